"""Roots that the user has pinned: read beside the setting, and damage only lowers what is believed."""

import pytest

from cakebook.settings import Settings, pinned_roots, pins_file


def test_pins_stand_beside_the_setting(monkeypatch, tmp_path):
    monkeypatch.setenv("CAKEBOOK_STATE", str(tmp_path))
    monkeypatch.setenv("CAKEBOOK_TRUST_ROOT", "b" * 64)
    assert Settings.from_environment().trust_roots == {"b" * 64}
    pins_file(tmp_path).write_text("a" * 64 + " mine-1234\n\n")
    assert Settings.from_environment().trust_roots == {"a" * 64, "b" * 64}


@pytest.mark.parametrize("data", [b"", b"\xff\xfe\x00", b"\n\n", b"not a digest at all\n"])
def test_damaged_pins_pin_nothing_that_exists(tmp_path, data):
    pins_file(tmp_path).write_bytes(data)
    assert not any(len(root) == 64 for root in pinned_roots(tmp_path))


def test_the_state_folder_is_where_platformdirs_has_it(monkeypatch, tmp_path):
    import platformdirs

    for base in (None, str(tmp_path / "data")):
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
        if base:
            monkeypatch.setenv("XDG_DATA_HOME", base)
        assert str(Settings().state_folder("x").parent) == platformdirs.user_data_dir("cakebook", appauthor=False)

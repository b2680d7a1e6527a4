"""`python -m cakebook`."""

from cakebook.cli import main

main()

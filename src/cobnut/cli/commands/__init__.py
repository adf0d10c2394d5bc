"""One module a command; `cli.main` names them all and imports the one that is called."""

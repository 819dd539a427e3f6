"""Tests of the client against real servers on SQLite, which run as Node processes from this
repository."""

"""Tests of the client against real servers on SQLite, started as Node processes of this repository."""

"""Dagster's records in SQLite, written quickly and kept small.

A package of its own because Dagster's web server and daemon import it by the name in ``dagster.yaml``, wherever they
are started; the library must not import Dagster, and the code location is not on their path.
"""

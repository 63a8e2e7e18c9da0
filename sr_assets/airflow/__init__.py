"""Airflow: the only room that imports it.

`build_dags` gives a DAG an asset, `sr_backfill` and `sr_reconcile`. The ledger decides what is built; Airflow's
asset events only wake, since they can be lost, doubled or coalesced (Airflow issues #56050, #70972).
"""

"""`information_schema` and the rows behind SHOW, as DuckDB views over the catalog's tables.

Column names, order and the layouts of different versions follow StarRocks' documentation of each view.
"""

# ruff: noqa: S608 - DuckDB text is built here: names go through quote(), values through literal()

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from sr_assets.standin.config import StandInConfig

# A row takes about this many bytes: DATA_SIZE is for show here.
_ROW_BYTES = 40

_SIZE = f"concat(p.row_count * {_ROW_BYTES}, 'B')"

_PARTITIONS_META = f"""
SELECT t.db AS DB_NAME, t.name AS TABLE_NAME, p.name AS PARTITION_NAME, p.id AS PARTITION_ID,
    0::BIGINT AS COMPACT_VERSION, p.version AS VISIBLE_VERSION, p.version_time AS VISIBLE_VERSION_TIME,
    p.version + 1 AS NEXT_VERSION, p.version AS DATA_VERSION, p.epoch AS VERSION_EPOCH,
    'TXN_NORMAL' AS VERSION_TXN_TYPE, t.partition_key AS PARTITION_KEY, p.value_text AS PARTITION_VALUE,
    t.distribution_key AS DISTRIBUTION_KEY, t.buckets AS BUCKETS, t.replication AS REPLICATION_NUM,
    'HDD' AS STORAGE_MEDIUM, TIMESTAMP '9999-12-31 23:59:59' AS COOLDOWN_TIME,
    NULL::TIMESTAMP AS LAST_CONSISTENCY_CHECK_TIME, false AS IS_IN_MEMORY, p.is_temp AS IS_TEMP,
    {_SIZE} AS DATA_SIZE, p.row_count AS ROW_COUNT, false AS ENABLE_DATACACHE, 0::DOUBLE AS AVG_CS,
    0::DOUBLE AS P50_CS, 0::DOUBLE AS MAX_CS, '' AS STORAGE_PATH {{since_3_5}}
FROM meta.partitions p JOIN meta.tables t ON t.id = p.table_id
"""
_PARTITIONS_META_3_5 = f", {_SIZE} AS STORAGE_SIZE, true AS TABLET_BALANCED"

_PROGRESS = """CASE state WHEN 'CANCELLED' THEN 'ETL:N/A; LOAD:N/A' WHEN 'PENDING' THEN 'ETL:0%; LOAD:0%'
    WHEN 'LOADING' THEN 'ETL:100%; LOAD:50%' WHEN 'COMMITTED' THEN 'ETL:100%; LOAD:99%'
    ELSE 'ETL:100%; LOAD:100%' END"""
_STATE = """CASE WHEN state = 'COMMITTED' THEN CASE type WHEN 'BROKER' THEN 'PREPARED' ELSE 'FINISHED' END
    ELSE state END"""
_TRACKING = """CASE WHEN filtered > 0 THEN
    concat('select tracking_log from information_schema.load_tracking_logs where job_id=', id) ELSE '' END"""
_DETAILS = """json_object('All backends', json_object(), 'FileNumber', files, 'FileSize', bytes,
    'InternalTableLoadBytes', bytes, 'InternalTableLoadRows', loaded, 'ScanBytes', bytes,
    'ScanRows', scanned, 'TaskNumber', 1, 'Unfinished backends', json_object())::VARCHAR"""

_LOADS_BEFORE_3_4_5 = f"""
SELECT id AS JOB_ID, label AS LABEL, db AS DATABASE_NAME, {_STATE} AS STATE, {_PROGRESS} AS PROGRESS,
    type AS TYPE, 'NORMAL' AS PRIORITY, scanned AS SCAN_ROWS, filtered AS FILTERED_ROWS,
    unselected AS UNSELECTED_ROWS, loaded AS SINK_ROWS, '' AS ETL_INFO, '' AS TASK_INFO,
    created AS CREATE_TIME, started AS ETL_START_TIME, started AS ETL_FINISH_TIME,
    started AS LOAD_START_TIME, finished AS LOAD_FINISH_TIME, {_DETAILS} AS JOB_DETAILS,
    error AS ERROR_MSG, NULL::VARCHAR AS TRACKING_URL, {_TRACKING} AS TRACKING_SQL,
    NULL::VARCHAR AS REJECTED_RECORD_PATH
FROM meta.jobs
"""
_LOADS = f"""
SELECT id AS ID, label AS LABEL, '' AS PROFILE_ID, db AS DB_NAME, table_name AS TABLE_NAME,
    username AS USER, '' AS WAREHOUSE, {_STATE} AS STATE, {_PROGRESS} AS PROGRESS, type AS TYPE,
    'NORMAL' AS PRIORITY, scanned AS SCAN_ROWS, bytes AS SCAN_BYTES, filtered AS FILTERED_ROWS,
    unselected AS UNSELECTED_ROWS, loaded AS SINK_ROWS, {_DETAILS} AS RUNTIME_DETAILS,
    created AS CREATE_TIME, started AS LOAD_START_TIME, finished AS LOAD_COMMIT_TIME,
    finished AS LOAD_FINISH_TIME, properties AS PROPERTIES, error AS ERROR_MSG, {_TRACKING} AS TRACKING_SQL,
    NULL::VARCHAR AS REJECTED_RECORD_PATH, id AS JOB_ID
FROM meta.jobs
"""

_VIEWS = {
    "schemata": """
SELECT 'def' AS CATALOG_NAME, name AS SCHEMA_NAME, 'utf8' AS DEFAULT_CHARACTER_SET_NAME,
    'utf8_general_ci' AS DEFAULT_COLLATION_NAME, NULL::VARCHAR AS SQL_PATH
FROM (SELECT name FROM meta.databases UNION ALL SELECT 'information_schema')
""",
    "tables": f"""
SELECT 'def' AS TABLE_CATALOG, t.db AS TABLE_SCHEMA, t.name AS TABLE_NAME, 'BASE TABLE' AS TABLE_TYPE,
    'StarRocks' AS ENGINE, NULL::BIGINT AS VERSION, NULL::VARCHAR AS ROW_FORMAT,
    coalesce(p.row_count, 0)::BIGINT AS TABLE_ROWS, {_ROW_BYTES}::BIGINT AS AVG_ROW_LENGTH,
    (coalesce(p.row_count, 0) * {_ROW_BYTES})::BIGINT AS DATA_LENGTH, NULL::BIGINT AS MAX_DATA_LENGTH,
    NULL::BIGINT AS INDEX_LENGTH, NULL::BIGINT AS DATA_FREE, NULL::BIGINT AS AUTO_INCREMENT,
    t.created AS CREATE_TIME, p.updated AS UPDATE_TIME, NULL::TIMESTAMP AS CHECK_TIME,
    'utf8_general_ci' AS TABLE_COLLATION, NULL::BIGINT AS CHECKSUM, NULL::VARCHAR AS CREATE_OPTIONS,
    t.comment AS TABLE_COMMENT
FROM meta.tables t LEFT JOIN (
    SELECT table_id, sum(row_count) AS row_count, max(version_time) AS updated
    FROM meta.partitions WHERE NOT is_temp GROUP BY table_id) p ON p.table_id = t.id
UNION ALL BY NAME
SELECT 'def' AS TABLE_CATALOG, db AS TABLE_SCHEMA, name AS TABLE_NAME, 'VIEW' AS TABLE_TYPE, '' AS TABLE_COMMENT
FROM meta.views
""",
    "columns": """
SELECT 'def' AS TABLE_CATALOG, t.db AS TABLE_SCHEMA, t.name AS TABLE_NAME, c.name AS COLUMN_NAME,
    c.position::BIGINT AS ORDINAL_POSITION, c.column_default AS COLUMN_DEFAULT,
    CASE WHEN c.nullable THEN 'YES' ELSE 'NO' END AS IS_NULLABLE, c.data_type AS DATA_TYPE,
    c.length AS CHARACTER_MAXIMUM_LENGTH, c.length AS CHARACTER_OCTET_LENGTH,
    c.numeric_precision::BIGINT AS NUMERIC_PRECISION, c.numeric_scale::BIGINT AS NUMERIC_SCALE,
    NULL::BIGINT AS DATETIME_PRECISION, NULL::VARCHAR AS CHARACTER_SET_NAME, NULL::VARCHAR AS COLLATION_NAME,
    c.column_type AS COLUMN_TYPE,
    CASE WHEN NOT c.is_key THEN '' WHEN t.key_model = 'PRIMARY' THEN 'PRI'
        WHEN t.key_model = 'UNIQUE' THEN 'UNI' ELSE 'DUP' END AS COLUMN_KEY,
    c.extra AS EXTRA, '' AS PRIVILEGES, c.comment AS COLUMN_COMMENT, c.length AS COLUMN_SIZE,
    c.numeric_scale::BIGINT AS DECIMAL_DIGITS, NULL::VARCHAR AS GENERATION_EXPRESSION,
    NULL::BIGINT AS SRS_ID
FROM meta.columns c JOIN meta.tables t ON t.id = c.table_id
""",
    "views": """
SELECT 'def' AS TABLE_CATALOG, db AS TABLE_SCHEMA, name AS TABLE_NAME, query AS VIEW_DEFINITION,
    'NONE' AS CHECK_OPTION, 'NO' AS IS_UPDATABLE, '' AS DEFINER, '' AS SECURITY_TYPE,
    'utf8' AS CHARACTER_SET_CLIENT, 'utf8_general_ci' AS COLLATION_CONNECTION
FROM meta.views
""",
    "tables_config": """
SELECT t.db AS TABLE_SCHEMA, t.name AS TABLE_NAME, 'OLAP' AS TABLE_ENGINE,
    concat(CASE t.key_model WHEN 'DUPLICATE' THEN 'DUP' WHEN 'PRIMARY' THEN 'PRIMARY' ELSE t.key_model END,
        '_KEYS') AS TABLE_MODEL, t.partition_key AS PARTITION_KEY, t.distribution_key AS DISTRIBUTE_KEY,
    'HASH' AS DISTRIBUTE_TYPE, t.buckets AS DISTRIBUTE_BUCKET, t.id AS TABLE_ID
FROM meta.tables t
""",
    "load_tracking_logs": """
SELECT job_id AS JOB_ID, label AS LABEL, db AS DATABASE_NAME, log AS TRACKING_LOG, type AS TYPE
FROM meta.tracking
""",
    "task_runs": """
SELECT query_id AS QUERY_ID, name AS TASK_NAME, created AS CREATE_TIME, finished AS FINISH_TIME,
    state AS STATE, 'default_catalog' AS CATALOG, db AS DATABASE, definition AS DEFINITION,
    created + INTERVAL 7 DAY AS EXPIRE_TIME, error_code AS ERROR_CODE, error AS ERROR_MESSAGE,
    progress AS PROGRESS, '' AS EXTRA_MESSAGE, '' AS PROPERTIES, query_id AS JOB_ID,
    created AS PROCESS_TIME
FROM meta.tasks
""",
    "tasks": """
SELECT name AS TASK_NAME, created AS CREATE_TIME, 'MANUAL' AS SCHEDULE, 'default_catalog' AS CATALOG,
    db AS DATABASE, definition AS DEFINITION, created + INTERVAL 7 DAY AS EXPIRE_TIME, '' AS PROPERTIES
FROM meta.tasks
""",
    # Rows behind SHOW statements; the leading columns are for the WHERE that show.py adds.
    "_show_partitions": f"""
SELECT p.table_id AS "$table", p.is_temp AS "$temp", p.id AS PartitionId, p.name AS PartitionName,
    p.version AS VisibleVersion, p.version_time AS VisibleVersionTime, 0::BIGINT AS VisibleVersionHash,
    'NORMAL' AS State, t.partition_key AS PartitionKey, p.value_text AS Range,
    t.distribution_key AS DistributionKey, t.buckets AS Buckets, t.replication AS ReplicationNum,
    'HDD' AS StorageMedium, TIMESTAMP '9999-12-31 23:59:59' AS CooldownTime,
    NULL::TIMESTAMP AS LastConsistencyCheckTime, {_SIZE} AS DataSize, false AS IsInMemory,
    p.row_count AS RowCount, p.version AS DataVersion, p.epoch AS VersionEpoch,
    'TXN_NORMAL' AS VersionTxnType
FROM meta.partitions p JOIN meta.tables t ON t.id = p.table_id
""",
    "_show_load": f"""
SELECT db AS "$db", id AS JobId, label AS Label, {_STATE} AS State, {_PROGRESS} AS Progress, type AS Type,
    'NORMAL' AS Priority, scanned AS ScanRows, filtered AS FilteredRows, unselected AS UnselectedRows,
    loaded AS SinkRows, '' AS EtlInfo,
    concat('resource:N/A; timeout(s):', coalesce(properties->>'timeout', '14400'), '; max_filter_ratio:',
        coalesce(properties->>'max_filter_ratio', '0.0')) AS TaskInfo,
    error AS ErrorMsg, created AS CreateTime, started AS EtlStartTime, started AS EtlFinishTime,
    started AS LoadStartTime, finished AS LoadFinishTime, {_TRACKING} AS TrackingSQL, {_DETAILS} AS JobDetails
FROM meta.jobs WHERE type IN ('BROKER', 'INSERT')
""",
    "_show_analyze": """
SELECT id AS Id, concat('default_catalog.', db) AS Database, table_name AS "Table", columns AS Columns,
    type AS Type, 'ONCE' AS Schedule, status AS Status, started AS StartTime, finished AS EndTime,
    properties AS Properties, reason AS Reason
FROM meta.analyzed
""",
}

VIEWS = frozenset({"partitions_meta", "loads", *(name for name in _VIEWS if not name.startswith("_"))})
"""The names that a query finds in information_schema."""


def create_views(cursor: duckdb.DuckDBPyConnection, config: StandInConfig) -> None:
    """Make the views of the pretended version."""
    views = dict(_VIEWS)
    views["partitions_meta"] = _PARTITIONS_META.format(
        since_3_5=_PARTITIONS_META_3_5 if config.at_least(3, 5) else ""
    )
    views["loads"] = _LOADS if config.at_least(3, 4, 5) else _LOADS_BEFORE_3_4_5
    for name, query in views.items():
        cursor.execute(f"CREATE OR REPLACE VIEW info.{name} AS {query}")


def visible_columns(cursor: duckdb.DuckDBPyConnection, view: str) -> Sequence[str]:
    """The columns of a view that a client may see."""
    description = cursor.execute(f"SELECT * FROM info.{view} LIMIT 0").description
    return [column[0] for column in description if not column[0].startswith("$")]

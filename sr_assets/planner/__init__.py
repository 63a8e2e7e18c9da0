"""The planner: which partitions are stale, why, and in which order to rebuild them. Pure: no I/O."""

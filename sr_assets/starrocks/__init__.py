"""Everything that is sent to StarRocks, as SQL or over HTTP, is written in this package.

It knows tables, partitions, labels and loads; it knows nothing of assets, plans or Airflow. Import from
its modules: importing the package itself loads no database driver and no HTTP client.

    session    one connection, its errors and its statement log       quoting    names and values as SQL text
    catalog    what partitions there are and what state they are in   tables     CREATE TABLE, and comparing
    partitions creating and swapping partitions                       overwrite  INSERT OVERWRITE
    labels     the state of a load, and INSERT of rows under a label  analyze    statistics
    broker_load, stream_load, files                                   loads from files and from the client
"""

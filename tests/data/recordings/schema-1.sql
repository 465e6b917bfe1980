-- The schema of a recording. Every table and column is explained in docs/file-format.md.
-- No two tables have the same number and kinds of columns: recover.c knows them by that.
-- Times are nanoseconds of CLOCK_MONOTONIC unless a name says otherwise; NULL means: not known.
PRAGMA application_id = 1246576976; -- 'JMAP'
PRAGMA user_version = 1;

CREATE TABLE meta(key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);

CREATE TABLE boards(
    id INTEGER PRIMARY KEY, backend TEXT NOT NULL, name TEXT NOT NULL, uuid TEXT, pci TEXT, driver TEXT,
    profile TEXT, board_index INTEGER, cuda_index INTEGER,
    power_limit_w REAL, power_limit_min_w REAL, power_limit_max_w REAL,
    simulated INTEGER NOT NULL, mig INTEGER NOT NULL);

CREATE TABLE sensors(
    id INTEGER PRIMARY KEY, board_id INTEGER NOT NULL REFERENCES boards(id),
    name TEXT NOT NULL, source TEXT NOT NULL, missing TEXT,
    quantity TEXT NOT NULL, unit TEXT NOT NULL, response TEXT NOT NULL,
    period_ns INTEGER, lag_ns INTEGER NOT NULL, lag_u_ns INTEGER NOT NULL,
    window_ns INTEGER NOT NULL, tau_ns INTEGER NOT NULL, tau_u_ns INTEGER NOT NULL,
    read_cost_ns INTEGER, noise REAL, gain_u REAL);

CREATE TABLE readings(t_ns INTEGER NOT NULL, sensor_id INTEGER NOT NULL, value REAL NOT NULL);

CREATE TABLE processes(
    id INTEGER PRIMARY KEY, parent_id INTEGER, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, command TEXT);

CREATE TABLE names(id INTEGER PRIMARY KEY, text TEXT NOT NULL);

CREATE TABLE span_kinds(id INTEGER PRIMARY KEY, text TEXT NOT NULL, process_wide INTEGER NOT NULL);

CREATE TABLE spans(
    id INTEGER PRIMARY KEY, process_id INTEGER NOT NULL, thread_id INTEGER NOT NULL, parent_id INTEGER,
    start_ns INTEGER NOT NULL, end_ns INTEGER, kind_id INTEGER NOT NULL, name_id INTEGER NOT NULL,
    type_id INTEGER, samples INTEGER);

CREATE TABLE marks(
    t_ns INTEGER NOT NULL, process_id INTEGER NOT NULL, thread_id INTEGER NOT NULL, name_id INTEGER NOT NULL,
    meta TEXT);

CREATE TABLE kernel_classes(
    id INTEGER PRIMARY KEY, name_id INTEGER NOT NULL, work TEXT NOT NULL,
    grid_x INTEGER NOT NULL, grid_y INTEGER NOT NULL, grid_z INTEGER NOT NULL,
    block_x INTEGER NOT NULL, block_y INTEGER NOT NULL, block_z INTEGER NOT NULL);

CREATE TABLE streams(
    id INTEGER PRIMARY KEY, process_id INTEGER NOT NULL, board_id INTEGER, context INTEGER NOT NULL,
    stream INTEGER NOT NULL);

-- A million rows a second must fit: small integers, no index, 0 and NULL take no room.
CREATE TABLE kernels(
    start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, class_id INTEGER NOT NULL,
    stream_id INTEGER NOT NULL, span_id INTEGER, queued_ns INTEGER, bytes INTEGER, calls INTEGER NOT NULL);

CREATE TABLE losses(
    t_ns INTEGER NOT NULL, process_id INTEGER, count INTEGER NOT NULL, source TEXT NOT NULL, reason TEXT NOT NULL);

CREATE TABLE events(t_ns INTEGER NOT NULL, board_id INTEGER, kind TEXT NOT NULL, value REAL, text TEXT NOT NULL);

CREATE TABLE anchors(monotonic_ns INTEGER NOT NULL, realtime_ns INTEGER NOT NULL);

-- For people and scripts: names joined, times in seconds since the start of the run.
CREATE VIEW run_start AS SELECT CAST(value AS INTEGER) AS t_ns FROM meta WHERE key = 'start_ns';

CREATE VIEW readings_named AS
    SELECT (r.t_ns - (SELECT t_ns FROM run_start)) / 1e9 AS t_s, b.id AS board_id, b.name AS board,
           s.name AS sensor, r.value AS value, s.unit AS unit
    FROM readings r JOIN sensors s ON s.id = r.sensor_id JOIN boards b ON b.id = s.board_id;

CREATE VIEW spans_named AS
    SELECT s.id AS id, (s.start_ns - (SELECT t_ns FROM run_start)) / 1e9 AS start_s,
           (s.end_ns - s.start_ns) / 1e9 AS duration_s, k.text AS kind, n.text AS name, t.text AS type,
           s.samples AS samples, s.parent_id AS parent_id, s.process_id AS process_id, s.thread_id AS thread_id
    FROM spans s JOIN span_kinds k ON k.id = s.kind_id LEFT JOIN names n ON n.id = s.name_id
         LEFT JOIN names t ON t.id = s.type_id;

CREATE VIEW marks_named AS
    SELECT (m.t_ns - (SELECT t_ns FROM run_start)) / 1e9 AS t_s, n.text AS name, m.meta AS meta,
           m.process_id AS process_id, m.thread_id AS thread_id
    FROM marks m LEFT JOIN names n ON n.id = m.name_id;

CREATE VIEW kernels_named AS
    SELECT (k.start_ns - (SELECT t_ns FROM run_start)) / 1e9 AS start_s, k.duration_ns / 1e3 AS duration_us,
           n.text AS kernel, c.work AS work, sn.text AS span, st.board_id AS board_id, st.stream AS stream,
           st.process_id AS process_id, k.queued_ns / 1e3 AS queued_us, k.bytes AS bytes, k.calls AS calls
    FROM kernels k JOIN kernel_classes c ON c.id = k.class_id LEFT JOIN names n ON n.id = c.name_id
         JOIN streams st ON st.id = k.stream_id LEFT JOIN spans s ON s.id = k.span_id
         LEFT JOIN names sn ON sn.id = s.name_id;

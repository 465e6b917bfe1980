-- The views of a recording; its tables follow from src/format/rows/tables.c.
-- For people and scripts: names joined, times in seconds since the start of the run.
CREATE VIEW run_start AS SELECT CAST(value AS INTEGER) AS t_ns FROM meta WHERE key = 'start_ns';

CREATE VIEW readings_named AS
    SELECT (r.t_ns - (SELECT t_ns FROM run_start)) / 1e9 AS t_s, b.id AS board_id, b.name AS board,
           s.name AS sensor, r.value AS value, s.unit AS unit
    FROM readings r JOIN sensors s ON s.id = r.sensor_id JOIN boards b ON b.id = s.board_id;

CREATE VIEW spans_named AS
    SELECT s.id AS id, (s.start_ns - (SELECT t_ns FROM run_start)) / 1e9 AS start_s,
           (s.end_ns - s.start_ns) / 1e9 AS duration_s, k.text AS kind, n.text AS name, t.text AS type,
           s.samples AS samples, s.tokens AS tokens, s.payload AS payload, s.parent_id AS parent_id, p.pid AS pid, p.rank AS rank, s.thread_id AS thread_id
    FROM spans s JOIN span_kinds k ON k.id = s.kind_id LEFT JOIN names n ON n.id = s.name_id
         LEFT JOIN names t ON t.id = s.type_id LEFT JOIN processes p ON p.id = s.process_id;

CREATE VIEW marks_named AS
    SELECT (m.t_ns - (SELECT t_ns FROM run_start)) / 1e9 AS t_s, n.text AS name, m.meta AS meta,
           p.pid AS pid, p.rank AS rank, m.thread_id AS thread_id
    FROM marks m LEFT JOIN names n ON n.id = m.name_id LEFT JOIN processes p ON p.id = m.process_id;

CREATE VIEW kernels_named AS
    SELECT (k.start_ns - (SELECT t_ns FROM run_start)) / 1e9 AS start_s, k.duration_ns / 1e3 AS duration_us,
           n.text AS kernel, c.work AS work, sn.text AS span, st.board_id AS board_id, st.stream AS stream,
           p.pid AS pid, p.rank AS rank, k.queued_ns / 1e3 AS queued_us, k.bytes AS bytes, k.calls AS calls
    FROM kernels k JOIN kernel_classes c ON c.id = k.class_id LEFT JOIN names n ON n.id = c.name_id
         JOIN streams st ON st.id = k.stream_id LEFT JOIN spans s ON s.id = k.span_id
         LEFT JOIN names sn ON sn.id = s.name_id LEFT JOIN processes p ON p.id = st.process_id;

-- Running nodes. Each updates its row every five seconds and deletes it at shutdown; after three missed updates it
-- counts as dead, and its row is removed later. Times are of the database's clock.
create table node (
  -- The name under which it holds jobs (job.node).
  id               text primary key,
  host             text not null,
  -- Null: not listening yet.
  api_port         integer,
  version          text not null,
  roles            text[] not null,
  started_at       timestamptz not null default clock_timestamp(),
  seen_at          timestamptz not null default clock_timestamp(),
  draining         boolean not null default false,
  slots            integer not null,
  running          integer not null,
  cores            integer not null,
  load             real not null,
  memory_bytes     bigint not null,
  browser          text not null check (browser in ('ok', 'broken', 'none')),
  -- The last migration that it knows.
  schema           text not null,
  browsers         integer not null default 0,
  -- Including replaced ones, since the node started.
  browsers_started integer not null default 0
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

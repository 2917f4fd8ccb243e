-- Nodes that run. Each writes its own row every five seconds and takes it away when it ends; one that has not
-- been seen for three beats counts as dead, and its row is removed a while later. Times are of this server's clock.
create table node (
  -- The name under which it holds jobs (job.node).
  id           text primary key,
  host         text not null,
  version      text not null,
  roles        text[] not null,
  started_at   timestamptz not null default clock_timestamp(),
  seen_at      timestamptz not null default clock_timestamp(),
  draining     boolean not null default false,
  slots        integer not null,
  running      integer not null,
  cores        integer not null,
  load         real not null,
  memory_bytes bigint not null,
  browser      text not null check (browser in ('ok', 'broken', 'none')),
  -- The last migration that it knows.
  schema       text not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

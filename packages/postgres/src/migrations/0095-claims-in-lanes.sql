-- Claims in lanes: docs/decisions/0076-claims-in-lanes.md. The functions that follow count what waits and runs.

-- How many renders of each domain run, for its cap. Jobs that were brought along are not counted.
create table queue_running (
  domain_id  integer primary key,
  account_id integer not null,
  running    integer not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- Where jobs wait. The number of a domain is the sum of its rows: what queues or cancels jobs adds a row, and waits for
-- no claim. Only claims put rows together, under the lock of the lane.
create table queue_waiting (
  lane       smallint generated always as ((account_id % 16)::smallint) stored,
  priority   smallint not null,
  account_id integer not null,
  domain_id  integer not null,
  waiting    integer not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
create index queue_waiting_line on queue_waiting (priority, lane, account_id, domain_id);

-- Whose turn it is. Only claims write these rows, under the lock of the lane.
create table queue_lane (
  lane         smallint not null,
  priority     smallint not null,
  -- How many turns each account of the lane has had.
  served       float8 not null default 0,
  -- The least turns of all lanes with work when this one was served last.
  least_served float8 not null default 0,
  -- The account that was served last.
  account_id   integer not null default 0,
  -- How many accounts waited, and when they were counted.
  accounts     integer not null default 1,
  counted_at   timestamptz not null default '-infinity',
  primary key (priority, lane)
) with (fillfactor = 10);
insert into queue_lane (lane, priority) select lane, priority from generate_series(0, 15) lane, generate_series(0, 2) priority;

-- When the counts were last compared with the jobs.
create table queue_compared (
  one_row     boolean primary key default true check (one_row),
  compared_at timestamptz not null
);
insert into queue_compared (compared_at) values ('-infinity');

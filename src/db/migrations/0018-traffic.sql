-- Live traffic by hour, for owners. Nodes count in memory and add their counts up here every few seconds; src/traffic/.

-- category: those of crawlers, or `people`, whose visits are one row an hour. crawler: a name of the kept list, or `other`.
-- times: how many took how long, by the fixed steps of src/insight/traffic/time-range.ts; zeros at the end are left out.
-- The statuses that are not counted here were 2xx.
create table traffic_hour (
  domain_id  integer     not null references domain on delete cascade,
  hour       timestamptz not null,
  category   text        not null,
  crawler    text        not null,
  verdict    text        not null,
  visits     bigint      not null,
  status_3xx bigint      not null,
  status_4xx bigint      not null,
  status_5xx bigint      not null,
  -- The client went before there was an answer.
  unanswered bigint      not null,
  times      integer[]   not null,
  primary key (domain_id, hour, category, crawler, verdict)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- The same by UTC day, for longer ranges: a twenty-fourth of the rows.
create table traffic_day (
  domain_id  integer not null references domain on delete cascade,
  day        date    not null,
  category   text    not null,
  crawler    text    not null,
  verdict    text    not null,
  visits     bigint  not null,
  status_3xx bigint  not null,
  status_4xx bigint  not null,
  status_5xx bigint  not null,
  unanswered bigint  not null,
  times      integer[] not null,
  primary key (domain_id, day, category, crawler, verdict)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- The paths of a UTC day that crawlers asked for most, and those that failed most. Path '': all that are not told apart.
create table traffic_path (
  domain_id  integer not null references domain on delete cascade,
  day        date    not null,
  is_failing boolean not null,
  path       text collate "C" not null,
  visits     bigint  not null,
  -- Of the newest visit.
  verdict    text    not null,
  status     smallint not null,
  primary key (domain_id, day, is_failing, path)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- The crawler that came last.
create table traffic_last (
  domain_id integer primary key references domain on delete cascade,
  crawler   text        not null,
  category  text        not null,
  seen_at   timestamptz not null
) with (fillfactor = 80);

-- What each node wrote last: a batch whose answer was lost is not added twice.
create table traffic_batch (
  node       uuid primary key,
  batch      bigint      not null,
  written_at timestamptz not null
);
create index traffic_batch_age on traffic_batch (written_at);

-- Renders that counted, by UTC day; render_count has them by month.
create table render_day (
  domain_id integer not null references domain on delete cascade,
  day       date    not null,
  renders   integer not null,
  primary key (domain_id, day)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

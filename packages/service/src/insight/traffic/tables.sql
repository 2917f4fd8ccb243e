-- Nodes count in memory and add their counts every few seconds.

-- By hour. category: of crawlers, or `people`, whose visits are one row an hour. crawler: a known name, or `other`.
-- times: a histogram with the fixed steps of packages/contract/src/traffic/time-range.ts, without trailing zeros.
-- Statuses that are not counted were 2xx. unanswered: the client disconnected before the response.
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
  unanswered bigint      not null,
  times      integer[]   not null,
  -- How many of them got a form other than HTML.
  markdown   bigint      not null default 0,
  cards      bigint      not null default 0,
  -- How many of them got the page for phones.
  mobile     bigint      not null default 0,
  primary key (domain_id, hour, category, crawler, verdict)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- The same by day, for longer ranges: a twenty-fourth of the rows.
create table traffic_day (
  domain_id  integer   not null references domain on delete cascade,
  day        date      not null,
  category   text      not null,
  crawler    text      not null,
  verdict    text      not null,
  visits     bigint    not null,
  status_3xx bigint    not null,
  status_4xx bigint    not null,
  status_5xx bigint    not null,
  unanswered bigint    not null,
  times      integer[] not null,
  markdown   bigint    not null default 0,
  cards      bigint    not null default 0,
  mobile     bigint    not null default 0,
  primary key (domain_id, day, category, crawler, verdict)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- The paths of a day that crawlers requested most, and those that failed most. Path '': all others together.
create table traffic_path (
  domain_id  integer  not null references domain on delete cascade,
  day        date     not null,
  is_failing boolean  not null,
  path       text collate "C" not null,
  visits     bigint   not null,
  -- Of the newest visit.
  verdict    text     not null,
  status     smallint not null,
  markdown   bigint   not null default 0,
  cards      bigint   not null default 0,
  primary key (domain_id, day, is_failing, path)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- Visits to paths that robots.txt forbids the crawler, with three of the paths.
create table traffic_forbidden (
  domain_id integer not null references domain on delete cascade,
  day       date    not null,
  category  text    not null,
  crawler   text    not null,
  visits    bigint  not null,
  paths     text[]  not null,
  primary key (domain_id, day, category, crawler)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- Requests of clients that look automatic and are taken for no crawler. Name '': all names beyond the limit of a day.
create table traffic_unrecognised (
  domain_id  integer     not null references domain on delete cascade,
  day        date        not null,
  name       text collate "C" not null,
  kind       text        not null check (kind in ('tool', 'unknown')),
  visits     bigint      not null,
  -- The newest one of this name.
  user_agent text        not null,
  seen_at    timestamptz not null,
  primary key (domain_id, day, name)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- The last crawler of a domain.
create table traffic_last (
  domain_id integer primary key references domain on delete cascade,
  crawler   text        not null,
  category  text        not null,
  seen_at   timestamptz not null
) with (fillfactor = 80);

-- The last batch of each node: a batch whose result was lost is not added twice.
create table traffic_batch (
  node       uuid primary key,
  batch      bigint      not null,
  written_at timestamptz not null
);
create index traffic_batch_age on traffic_batch (written_at);

-- For lists of domains, by day: requests of crawlers for pages, and how many were hits. Summaries of 10,000 domains
-- read from `traffic_hour` added up 1.5 million rows; here a week of a domain is sixteen rows.
create table traffic_summary (
  domain_id    integer  not null references domain on delete cascade,
  day          date     not null,
  -- 0: from rows that grew, 1: from new rows. Two triggers write them, one after the other. With one row, two nodes
  -- that count the same domains could deadlock.
  part         smallint not null,
  pages        bigint   not null,
  hits         bigint   not null,
  -- The same by hour of the day, 24 each.
  hourly_pages bigint[] not null,
  hourly_hits  bigint[] not null,
  primary key (domain_id, day, part)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

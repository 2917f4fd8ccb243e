-- Nodes count in memory and append their counts every five seconds, or each minute. One node adds them up every five
-- minutes.
--
-- Advisory lock: (7231, 0) one node adds up at a time.

-- Counts that are not added up yet: a row for each domain, flush of a node, and minute of the visits. `node`: one life of a
-- process; `flush`: its running number. No foreign key and no further index: a row lives for minutes, and rows of deleted
-- domains are dropped when the others are added up. `lines`: packages/service/src/insight/traffic/packed-lines.ts.
-- `visits`: of crawlers. `pages`, `hits`, `failed`: their requests for pages, and how many of them were hits, and failed.
create table traffic_minute (
  minute    timestamptz not null,
  node      uuid        not null,
  flush     bigint      not null,
  domain_id integer     not null,
  lines     jsonb       not null,
  pages     integer     not null default 0,
  hits      integer     not null default 0,
  visits    integer     not null default 0,
  failed    integer     not null default 0,
  primary key (minute, node, flush, domain_id)
) partition by range (minute);
create table traffic_minute_default partition of traffic_minute default;
-- Partitions of days (UTC). Later ones: packages/postgres/src/day-partitions.ts.
do $$
declare
  day date;
begin
  for ahead in 0..3 loop
    day := (now() at time zone 'UTC')::date + ahead;
    execute format('create table %I partition of traffic_minute for values from (%L) to (%L)',
      'traffic_minute_' || to_char(day, 'YYYYMMDD'), day || ' 00:00+00', day + 1 || ' 00:00+00');
  end loop;
end
$$;

-- The last flush of each node: one whose number is not higher was written already, though its result was lost.
create table traffic_flush (
  node  uuid primary key,
  flush bigint      not null,
  at    timestamptz not null
) with (fillfactor = 50);

-- The same by hour, and by day for longer ranges. `search_visits`: of search crawlers.
create table traffic_folded_hour (
  domain_id     integer     not null references domain on delete cascade,
  hour          timestamptz not null,
  search_visits bigint      not null,
  lines         jsonb       not null,
  primary key (domain_id, hour)
) with (autovacuum_vacuum_scale_factor = 0.02);

create table traffic_folded_day (
  domain_id     integer   not null references domain on delete cascade,
  day           date      not null,
  search_visits bigint    not null,
  pages         bigint    not null,
  hits          bigint    not null,
  -- The same by hour of the day, 24 each: lists of domains show the last 24 hours.
  hourly_pages  integer[] not null,
  hourly_hits   integer[] not null,
  lines         jsonb     not null,
  visits        bigint    not null default 0,
  failed        bigint    not null default 0,
  primary key (domain_id, day)
) with (autovacuum_vacuum_scale_factor = 0.02);

-- Visits that 0.2.0 counted, by hour and by day. They are read until they expire. category: of crawlers, or `people`, whose visits are one row an hour. crawler: a known name, or `other`.
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

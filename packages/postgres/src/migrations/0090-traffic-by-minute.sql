-- Traffic by minute, added up by one node: docs/decisions/0074-traffic-by-minute.md.
create table traffic_minute (
  minute    timestamptz not null,
  node      uuid        not null,
  flush     bigint      not null,
  domain_id integer     not null,
  lines     jsonb       not null,
  pages     integer     not null default 0,
  hits      integer     not null default 0,
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
  primary key (domain_id, day)
) with (autovacuum_vacuum_scale_factor = 0.02);

-- What lists of domains show of the last days. The lines of these days stay in `traffic_day`.
create function sum_of_hours(parts bigint[]) returns integer[] language sql as $$
  select array(select coalesce(sum(parts[part][hour]), 0)::integer
                 from generate_series(1, 24) hour, generate_series(1, coalesce(array_length(parts, 1), 0)) part
                group by hour order by hour)
$$;
insert into traffic_folded_day (domain_id, day, search_visits, pages, hits, hourly_pages, hourly_hits, lines)
select domain_id, day, 0, sum(pages), sum(hits), sum_of_hours(array_agg(hourly_pages)), sum_of_hours(array_agg(hourly_hits)), '[]'
  from traffic_summary group by domain_id, day;
drop function sum_of_hours(bigint[]);

drop trigger traffic_summary_grown on traffic_hour;
drop trigger traffic_summary_new on traffic_hour;
drop function summarise_grown();
drop function summarise_new();
drop function add_to_summaries(smallint, integer[], timestamptz[], boolean[], bigint[]);
drop table traffic_summary;
-- A view of this name serves nodes of 0.2.0: functions.sql.
insert into traffic_flush (node, flush, at) select node, batch, written_at from traffic_batch;
drop table traffic_batch;

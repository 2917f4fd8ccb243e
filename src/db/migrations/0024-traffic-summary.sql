-- What a list of domains says of each, by UTC day: requests of crawlers for pages, and how many of them were hits.
-- Off `traffic_hour` the summaries of 10,000 domains were added up from a million and a half lines; here a week of a
-- domain is sixteen rows, however many crawlers come. docs/decisions/0037-summaries-of-many-domains.md.
create table traffic_summary (
  domain_id    integer  not null references domain on delete cascade,
  day          date     not null,
  -- 0: of lines that were there and grew, 1: of new ones. Two triggers write them, one after the other: were it one
  -- row, two nodes that count the same domains would wait for each other in a circle.
  part         smallint not null,
  pages        bigint   not null,
  hits         bigint   not null,
  -- The same by hour of the day, 24 each.
  hourly_pages bigint[] not null,
  hourly_hits  bigint[] not null,
  primary key (domain_id, day, part)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- `NO_PAGES` of src/insight/traffic/verdict-kind.ts: a verdict that is added there needs a migration here. A test compares them.
create function is_for_page(category text, verdict text) returns boolean language sql immutable as $$
  select category <> 'people' and verdict not in (
    'pass; not-a-crawler', 'pass; method', 'pass; category', 'pass; authorization', 'pass; asset', 'pass; excluded',
    'pass; rule', 'pass; path', 'pass; inactive', 'pass; loop', 'pass; forged', 'sitemap')
$$;

-- Changes of lines, side by side. In one order at all nodes, so that two never wait for each other. Each of the 24 hours
-- is written out: with a loop over an array it took twice as long.
do $written_out$ begin execute format($function$
  create function add_to_summaries(
    of_part smallint, domains integer[], hours timestamptz[], are_hits boolean[], changes bigint[]
  ) returns void language plpgsql as $$
  begin
    insert into traffic_summary as t (domain_id, day, part, pages, hits, hourly_pages, hourly_hits)
    select c.domain_id, c.day, of_part, sum(c.pages), sum(c.hits), array[%1$s], array[%2$s]
      from (select u.domain_id, (u.hour at time zone 'UTC')::date as day,
                   extract(hour from u.hour at time zone 'UTC')::integer as hour,
                   sum(u.visits)::bigint as pages, coalesce(sum(u.visits) filter (where u.is_hit), 0)::bigint as hits
              from unnest(domains, hours, are_hits, changes) as u (domain_id, hour, is_hit, visits)
             group by 1, 2, 3) c
     group by c.domain_id, c.day
     order by c.domain_id, c.day
    on conflict (domain_id, day, part) do update set
      pages = t.pages + excluded.pages, hits = t.hits + excluded.hits,
      hourly_pages = array[%3$s], hourly_hits = array[%4$s];
  end
  $$
$function$,
  (select string_agg(format('coalesce(max(c.pages) filter (where c.hour = %s), 0)', h), ', ' order by h) from generate_series(0, 23) h),
  (select string_agg(format('coalesce(max(c.hits) filter (where c.hour = %s), 0)', h), ', ' order by h) from generate_series(0, 23) h),
  (select string_agg(format('t.hourly_pages[%1$s] + excluded.hourly_pages[%1$s]', h), ', ' order by h) from generate_series(1, 24) h),
  (select string_agg(format('t.hourly_hits[%1$s] + excluded.hourly_hits[%1$s]', h), ', ' order by h) from generate_series(1, 24) h));
end $written_out$;

create function summarise_grown() returns trigger language plpgsql as $$
begin
  perform add_to_summaries(0::smallint, array_agg(domain_id), array_agg(hour),
                           array_agg(verdict in ('hit', 'stale')), array_agg(visits))
     from (select domain_id, hour, category, verdict, visits from now_rows
           union all
           select domain_id, hour, category, verdict, -visits from before_rows) changed
    where is_for_page(category, verdict)
   having count(*) > 0;
  return null;
end
$$;
create function summarise_new() returns trigger language plpgsql as $$
begin
  perform add_to_summaries(1::smallint, array_agg(domain_id), array_agg(hour),
                           array_agg(verdict in ('hit', 'stale')), array_agg(visits))
     from now_rows
    where is_for_page(category, verdict)
   having count(*) > 0;
  return null;
end
$$;

-- However a line is written, and at whatever version of a node. PostgreSQL runs the first before the second when one
-- statement does both. That old hours go changes nothing: they lie far behind every summary.
create trigger traffic_summary_grown after update on traffic_hour
  referencing old table as before_rows new table as now_rows for each statement execute function summarise_grown();
create trigger traffic_summary_new after insert on traffic_hour
  referencing new table as now_rows for each statement execute function summarise_new();

-- No node writes meanwhile: the triggers have the table. Some domains at a time, each off its key.
select add_to_summaries(1::smallint, array_agg(t.domain_id), array_agg(t.hour),
                        array_agg(t.verdict in ('hit', 'stale')), array_agg(t.visits))
  from domain d cross join lateral (
    select * from traffic_hour
     where domain_id = d.id and hour >= now() - interval '9 days' and is_for_page(category, verdict) offset 0) t
 group by d.id / 100 order by d.id / 100;

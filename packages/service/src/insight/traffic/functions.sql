-- The verdicts are `NO_PAGES` of packages/contract/src/traffic/verdict-kind.ts. A test compares them.
create or replace function is_for_page(category text, verdict text) returns boolean language sql immutable as $$
  select category <> 'people' and verdict not in (
    'pass; not-a-crawler', 'pass; method', 'pass; category', 'pass; authorization', 'pass; cookie', 'pass; own-markdown',
    'pass; asset', 'pass; excluded', 'pass; rule', 'pass; path', 'pass; inactive', 'pass; loop', 'pass; forged', 'rule', 'redirect', 'site-file', 'blocked',
    'payment', 'pass; soft-404', 'sitemap')
$$;

-- Adds changes of rows. All nodes write in the same order, so that they cannot deadlock. Each of the 24 hours is
-- written out: a loop over an array took twice as long.
do $written_out$ begin execute format($function$
  create or replace function add_to_summaries(
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

create or replace function summarise_grown() returns trigger language plpgsql as $$
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

create or replace function summarise_new() returns trigger language plpgsql as $$
begin
  perform add_to_summaries(1::smallint, array_agg(domain_id), array_agg(hour),
                           array_agg(verdict in ('hit', 'stale')), array_agg(visits))
     from now_rows
    where is_for_page(category, verdict)
   having count(*) > 0;
  return null;
end
$$;

-- When one statement updates and inserts, PostgreSQL runs the first trigger before the second. The removal of old hours
-- changes nothing: summaries do not reach back that far.
create or replace trigger traffic_summary_grown after update on traffic_hour
  referencing old table as before_rows new table as now_rows for each statement execute function summarise_grown();
create or replace trigger traffic_summary_new after insert on traffic_hour
  referencing new table as now_rows for each statement execute function summarise_new();

-- The verdicts are `NO_PAGES` of packages/contract/src/traffic/verdict-kind.ts. A test compares them.
create or replace function is_for_page(category text, verdict text) returns boolean language sql immutable as $$
  select category <> 'people' and verdict not in (
    'pass; not-a-crawler', 'pass; method', 'pass; category', 'pass; authorization', 'pass; cookie', 'pass; own-markdown',
    'pass; asset', 'pass; excluded', 'pass; rule', 'pass; path', 'pass; inactive', 'pass; loop', 'pass; forged', 'rule', 'redirect', 'site-file', 'blocked',
    'payment', 'pass; soft-404', 'sitemap')
$$;

-- `10=2,0,1` as an array with the bounds 10 to 12. Stable, as the conversion to an array is: else it is not inlined.
create or replace function times_from(written text) returns integer[] language sql stable as $$
  select case when written = '' then '{}'::integer[] else (
    '[' || split_part(written, '=', 1) || ':'
    || (split_part(written, '=', 1)::integer + length(written) - length(replace(written, ',', '')))::text
    || ']={' || split_part(written, '=', 2) || '}')::integer[] end
$$;

-- The lines of a row: packages/service/src/insight/traffic/packed-lines.ts. Counts that are zero may be missing at the
-- end. Without any counts, there are as many visits as times.
-- The array of times begins at the first step that occurred.
create or replace function traffic_lines(lines jsonb)
returns table (
  category text, crawler text, verdict text, times integer[], visits bigint, status_3xx bigint, status_4xx bigint,
  status_5xx bigint, unanswered bigint, markdown bigint, cards bigint, mobile bigint)
language sql stable as $$
  select of_crawler ->> 0, of_crawler ->> 1, split_part(line, '|', 1), times_from(split_part(line, '|', 2)),
         coalesce(nullif(split_part(line, '|', 3), '')::bigint, (select coalesce(sum(count), 0) from unnest(times_from(split_part(line, '|', 2))) count)),
         coalesce(nullif(split_part(line, '|', 4), '')::bigint, 0),
         coalesce(nullif(split_part(line, '|', 5), '')::bigint, 0),
         coalesce(nullif(split_part(line, '|', 6), '')::bigint, 0),
         coalesce(nullif(split_part(line, '|', 7), '')::bigint, 0),
         coalesce(nullif(split_part(line, '|', 8), '')::bigint, 0),
         coalesce(nullif(split_part(line, '|', 9), '')::bigint, 0),
         coalesce(nullif(split_part(line, '|', 10), '')::bigint, 0)
    from jsonb_array_elements(lines) as of_crawler,
         jsonb_array_elements_text(of_crawler) with ordinality as each (line, at)
   where at > 2
$$;

-- All visits by hour: those that 0.2.0 counted, those that were added up, and those that were not yet.
create or replace view traffic_by_hour as
  select domain_id, hour, category, crawler, verdict, times, visits, status_3xx, status_4xx, status_5xx, unanswered,
         markdown, cards, mobile
    from traffic_hour
  union all
  select f.domain_id, f.hour, l.category, l.crawler, l.verdict, l.times, l.visits, l.status_3xx, l.status_4xx,
         l.status_5xx, l.unanswered, l.markdown, l.cards, l.mobile
    from traffic_folded_hour f cross join lateral traffic_lines(f.lines) l
  union all
  select m.domain_id, date_trunc('hour', m.minute, 'UTC'), l.category, l.crawler, l.verdict, l.times, l.visits,
         l.status_3xx, l.status_4xx, l.status_5xx, l.unanswered, l.markdown, l.cards, l.mobile
    from traffic_minute m cross join lateral traffic_lines(m.lines) l;

create or replace view traffic_by_day as
  select domain_id, day, category, crawler, verdict, times, visits, status_3xx, status_4xx, status_5xx, unanswered,
         markdown, cards, mobile
    from traffic_day
  union all
  select f.domain_id, f.day, l.category, l.crawler, l.verdict, l.times, l.visits, l.status_3xx, l.status_4xx,
         l.status_5xx, l.unanswered, l.markdown, l.cards, l.mobile
    from traffic_folded_day f cross join lateral traffic_lines(f.lines) l
  union all
  select m.domain_id, (m.minute at time zone 'UTC')::date, l.category, l.crawler, l.verdict, l.times, l.visits,
         l.status_3xx, l.status_4xx, l.status_5xx, l.unanswered, l.markdown, l.cards, l.mobile
    from traffic_minute m cross join lateral traffic_lines(m.lines) l;

-- For nodes of 0.2.0, which run beside this version during an upgrade: they number their batches here, and read the
-- summaries of their lists. The second one cannot be written, so that they remove nothing from it. Both are dropped one
-- release after 0.3.0.
create or replace view traffic_batch as
  select node, flush as batch, at as written_at from traffic_flush;
create or replace view traffic_summary as
  select f.domain_id, f.day, part.part, f.pages, f.hits, f.hourly_pages::bigint[] as hourly_pages,
         f.hourly_hits::bigint[] as hourly_hits
    from traffic_folded_day f cross join (values (0::smallint)) as part (part);

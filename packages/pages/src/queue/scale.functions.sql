-- How many render slots the fleet should have, so that crawlers do not wait and background work is done within the time: a fifth
-- stays free. The mean is that of the last thousand renders of ten minutes; without any, two seconds.
create or replace function render_slots_wanted(target_seconds integer) returns integer language sql stable as $$
  select greatest(0, ceil((running.jobs + waiting.live + waiting.background * mean.seconds / target_seconds) / 0.8))::integer
    from (select coalesce(sum(running), 0) as jobs from queue_running) running
   cross join (
     select coalesce(sum(waiting) filter (where priority = 0), 0) as live,
            coalesce(sum(waiting) filter (where priority > 0), 0) as background from queue_waiting) waiting
   cross join (
     select coalesce(avg(stored_ms), 2000) / 1000.0 as seconds from (
       select stored_ms from render_record where ended_at > now() - interval '10 minutes'
        order by ended_at desc limit 1000) newest) mean
$$;

-- For scalers that ask PostgreSQL. `alter database ... set prepaint.scale_target_seconds = 300` is for this view what
-- PREPAINT_SCALE_TARGET_SECONDS is for the metrics.
create or replace view scale_signal as
  select render_slots_wanted(coalesce(nullif(current_setting('prepaint.scale_target_seconds', true), '')::integer, 600)) as slots_wanted,
         (select greatest(0, coalesce(sum(waiting), 0))::integer from queue_waiting where priority = 0) as live_waiting,
         (select coalesce(max(extract(epoch from now() - first.created_at)), 0)::float8
            from (values (0), (1), (2)) as p (number)
           cross join lateral (
             select created_at from job where state = 'queued' and priority = p.number and run_at <= now()
              order by created_at limit 1) first) as head_age_seconds;

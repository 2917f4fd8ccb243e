-- The two steps of the queue that need a lock first and a look afterwards. A single statement cannot:
-- its snapshot is older than the lock that it waits for (measured: a cap of 2 let 7 renders run).
-- In a volatile function each statement has a snapshot of its own. docs/decisions/0005-queue.md.
--
-- Advisory locks: (7226, 0) one claim at a time; (7227, <domain>) one enqueue in bulk of a domain at a time;
-- (7226, 1) one count of the queue at a time.

-- How many jobs of `refresh` and `warm` wait, counted anew when older than five seconds: an exact
-- count of a million rows for each enqueue would cost more than the bound is worth.
create table queue_depth (
  one_row    boolean primary key default true check (one_row),
  queued     bigint not null,
  counted_at timestamptz not null
);
insert into queue_depth (queued, counted_at) values (0, '-infinity');

-- Virtual time of each priority: the turn that was served last. Only claims write it, and they come one by one.
-- (Read off the running jobs instead, it stood still while a slow domain at its cap held the lowest turns, and
-- whoever asked for one page at a time was always first.)
create table queue_clock (
  priority smallint primary key,
  turn     bigint not null
) with (fillfactor = 10);
insert into queue_clock (priority, turn) values (0, 0), (1, 0), (2, 0);

-- Both ends of what a domain has waiting in one priority; null for nothing. Pairs are compared, and all columns
-- of the index ordered by, because only `job_line` can do that: with `=` the planner may take `job_claim` and read
-- the lines of all other domains.
create function first_turn(lane smallint, for_domain integer) returns bigint
language sql as $$
  select turn from job
   where state = 'queued' and (priority, domain_id) >= (lane, for_domain) and (priority, domain_id) <= (lane, for_domain)
   order by priority, domain_id, turn, id limit 1
$$;

create function last_turn(lane smallint, for_domain integer) returns bigint
language sql as $$
  select turn from job
   where state = 'queued' and (priority, domain_id) >= (lane, for_domain) and (priority, domain_id) <= (lane, for_domain)
   order by priority desc, domain_id desc, turn desc, id desc limit 1
$$;

-- Queues renders of `paths` (no two alike) and gives the open job of each. A page that has an open job
-- joins it and raises its priority. No row at all: the queue is full.
-- The bound is fair without knowing who there is: a domain may have at most as many waiting as are
-- still free. Alone, it gets half; beside another, a third each; a newcomer always finds room.
create function enqueue_jobs(for_domain integer, paths text[], lane smallint, bound bigint)
returns table (path text, job_id uuid)
language plpgsql
-- Statistics always lag behind what a queue holds: only its indexes are right, in their own order.
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_incremental_sort = off
as $$
#variable_conflict use_column
declare
  fresh  bigint;
  raised bigint;
  joined uuid[];
  own    bigint;
  whole  bigint;
  base   bigint;
begin
  if lane = 0 then
    -- What a crawler asks for need not survive the server: it waits at most for some seconds.
    perform set_config('synchronous_commit', 'off', true);
  end if;
  if lane > 0 or cardinality(paths) > 1 then
    perform pg_advisory_xact_lock(7227, for_domain);
  end if;

  select count(*) filter (where j.id is null), count(*) filter (where j.priority > lane), array_agg(j.id)
    into fresh, raised, joined
    from unnest(paths) as asked(path)
    left join job j on j.domain_id = for_domain and j.path = asked.path and j.state in ('queued', 'running');

  if fresh = 0 and raised = 0 then
    -- By id: one that ended a moment ago has its result, and is as good.
    return query select j.path, j.id from job j where j.id = any (joined);
    return;
  end if;

  if fresh > 0 then
    if lane = 0 then
      select count(*) into whole
        from (select from job where state = 'queued' and priority = 0 limit bound) waiting;
      select count(*) into own from job where state = 'queued' and priority = 0 and domain_id = for_domain;
    else
      if exists (select from queue_depth where counted_at < clock_timestamp() - interval '5 seconds')
         and pg_try_advisory_xact_lock(7226, 1) then
        update queue_depth set
          queued = (select count(*) from job where state = 'queued' and priority > 0),
          counted_at = clock_timestamp();
      end if;
      select queued into whole from queue_depth;
      -- Turns of a domain differ, so their range is never less than the number of its jobs.
      own := 0;
      for line in 1..2 loop
        own := own + coalesce(last_turn(line::smallint, for_domain) - first_turn(line::smallint, for_domain) + 1, 0);
      end loop;
      if own + greatest(own, whole) + 2 * fresh > bound then
        select count(*) into own from job where state = 'queued' and priority in (1, 2) and domain_id = for_domain;
      end if;
    end if;
    if own + greatest(own, whole) + 2 * fresh > bound then
      return;
    end if;
  end if;

  -- Start-time fair queueing: a job's turn follows its domain's last one, but is never behind the clock.
  select greatest(last_turn(lane, for_domain), (select turn from queue_clock where priority = lane))
    into base;

  -- In the order of paths, so that two that meet here lock rows in the same order.
  insert into job as known (domain_id, path, priority, turn)
    select for_domain, asked.path, lane, base + asked.place
      from unnest(paths) with ordinality as asked(path, place)
     order by asked.path collate "C"
    on conflict (domain_id, path) where state in ('queued', 'running')
    do update set priority = excluded.priority, turn = excluded.turn
       where excluded.priority < known.priority;
  perform pg_notify('job_queued', lane::text);

  -- All of them are locked by now.
  return query
    select j.path, j.id from job j
     where j.domain_id = for_domain and j.path = any (paths) and j.state in ('queued', 'running');
end
$$;

-- Gives at most `slots` jobs to a node, no more than `background_slots` of them other than `live`.
-- `live` before `refresh` before `warm`, then by turn. A domain has at most `domain_cap` renders running
-- over all nodes; others than `live` stop at `background_cap` of them.
create function claim_jobs(
  by_node text, slots integer, background_slots integer,
  domain_cap integer, background_cap integer, lease interval, in_month date)
returns table (
  job_id uuid, domain_id integer, path text, priority smallint, attempts integer, faults smallint,
  custom_domain text, origin_url text, is_active boolean, plan text, renders integer)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_incremental_sort = off
as $$
#variable_conflict use_column
declare
  at_cap            integer[];
  at_background_cap integer[];
  lowest            smallint;
  picked            uuid;
  claimed           integer := 0;
  background        integer := 0;
  served            smallint;
begin
  -- A claim that the server forgets in a crash is a job that is still queued: nothing is lost.
  perform set_config('synchronous_commit', 'off', true);

  if not exists (select from job where state = 'queued') then
    return;
  end if;
  perform pg_advisory_xact_lock(7226, 0);

  while claimed < slots loop
    lowest := case when background < background_slots then 2 else 0 end;
    select coalesce(array_agg(d) filter (where n >= domain_cap), '{}'),
           coalesce(array_agg(d) filter (where n >= background_cap), '{}')
      into at_cap, at_background_cap
      from (select j.domain_id as d, count(*) as n from job j where j.state = 'running' group by 1) busy;

    picked := next_job(lowest, at_cap, at_background_cap);
    exit when picked is null;

    claimed := claimed + 1;
    return query
      with taken as (
        update job j set state = 'running', node = by_node, attempts = j.attempts + 1,
               lease_until = clock_timestamp() + lease, started_at = clock_timestamp()
         where j.id = picked
        returning j.*)
      select t.id, t.domain_id, t.path, t.priority, t.attempts, t.faults,
             d.custom_domain, d.origin_url, d.is_active, a.plan, coalesce(c.renders, 0)
        from taken t
        join domain d on d.id = t.domain_id
        join account a on a.id = d.account_id
        left join render_count c on c.domain_id = t.domain_id and c.month = in_month;
    update queue_clock c set turn = greatest(c.turn, j.turn) from job j
     where j.id = picked and c.priority = j.priority
    returning c.priority into served;
    background := background + least(served, 1);
  end loop;
end
$$;

-- The first job that may run, with its row locked; null when there is none.
create function next_job(lowest smallint, at_cap integer[], at_background_cap integer[]) returns uuid
language plpgsql as $$
#variable_conflict use_column
declare
  look_ahead constant integer := 200;
  candidate  record;
  seen       integer := 0;
  picked     uuid;
  -- One value for a whole search: a condition on it is checked once, not for each row.
  moment     constant timestamptz := clock_timestamp();
begin
  -- Nearly always the very first.
  for candidate in
    select id, domain_id, priority, run_at from job
     where state = 'queued' and priority <= lowest
     order by priority, turn, id limit look_ahead
  loop
    seen := seen + 1;
    continue when candidate.run_at > moment
      or candidate.domain_id = any (case when candidate.priority = 0 then at_cap else at_background_cap end);
    select id into picked from job where id = candidate.id and state = 'queued' for update skip locked;
    if picked is not null then return picked; end if;
  end loop;
  if seen < look_ahead then return null; end if;

  -- A domain at its cap has piled up in front. Reading past it would cost its whole backlog (100,000 rows);
  -- so: the head of each domain's line, found by leaping from domain to domain in the index.
  for candidate in
    with recursive head as (
      (select priority, domain_id, turn, id, run_at from job
        where state = 'queued' and priority <= lowest
        order by priority, domain_id, turn, id limit 1)
      union all
      select following.* from head, lateral (
        select priority, domain_id, turn, id, run_at from job
         where state = 'queued' and priority <= lowest
           and (priority, domain_id) > (head.priority, head.domain_id)
         order by priority, domain_id, turn, id limit 1) following)
    select ready.id from head, lateral (
        -- A head that waits for its back-off lets the next of its line pass.
        select head.turn, head.id where head.run_at <= moment
        union all
        (select turn, id from job
          where head.run_at > moment and run_at <= moment and state = 'queued'
            and (priority, domain_id) >= (head.priority, head.domain_id)
            and (priority, domain_id) <= (head.priority, head.domain_id)
          order by priority, domain_id, turn, id limit 1)) ready
     where head.domain_id <> all (case when head.priority = 0 then at_cap else at_background_cap end)
     order by head.priority, ready.turn, ready.id
  loop
    select id into picked from job where id = candidate.id and state = 'queued' for update skip locked;
    if picked is not null then return picked; end if;
  end loop;
  return null;
end
$$;

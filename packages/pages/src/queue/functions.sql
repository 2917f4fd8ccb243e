-- Whether a path is a page. Prepaint makes others up, to learn how a site answers for missing pages (`PROBE_PREFIX` in prober.ts) and to
-- try rules (`PATH_PREFIX` in rule-tries.ts): they are in no list and no count.
create or replace function is_page_path(path text) returns boolean language sql immutable as $$
  select not starts_with(path, '/prepaint-probe-') and not starts_with(path, '/prepaint-try-')
$$;

-- The first and the last turn of a domain's waiting jobs in one priority; null for none. Comparing rows and ordering by
-- all columns forces the index `job_line`: with `=` the planner may take another and read the jobs of all domains.
create or replace function first_turn(lane smallint, account integer, domain integer) returns bigint
language sql as $$
  select turn from job
   where state = 'queued' and (priority, account_id, domain_id) >= (lane, account, domain)
     and (priority, account_id, domain_id) <= (lane, account, domain)
   order by priority, account_id, domain_id, turn, id limit 1
$$;

create or replace function last_turn(lane smallint, account integer, domain integer) returns bigint
language sql as $$
  select turn from job
   where state = 'queued' and (priority, account_id, domain_id) >= (lane, account, domain)
     and (priority, account_id, domain_id) <= (lane, account, domain)
   order by priority desc, account_id desc, domain_id desc, turn desc, id desc limit 1
$$;

-- All jobs: those that wait or run, and those of the last week that have ended.
create or replace view every_job as
  select id, domain_id, path, variant, is_both, priority, state, outcome, detail, created_at, finished_at, request_id, warm from job
  union all
  select id, domain_id, path, variant, is_both, priority, state, outcome, detail, created_at, finished_at, request_id, warm from job_ended;

-- Nodes of 0.2.0: whether one runs. They look for ended jobs in `job` only. 15 seconds as in packages/service/src/insight/fleet/node.ts.
create or replace function are_older_nodes_running() returns boolean language sql stable as $$
  select exists (select from node where schema < '0180' collate "C" and seen_at > clock_timestamp() - interval '15 seconds')
$$;

-- Ends jobs that its caller has locked. `is_counted`: those of a warm count for it.
create or replace function end_jobs(ended uuid[], of_state text, of_outcome text, of_detail text, is_counted boolean default true)
returns void
language plpgsql as $$
begin
  if are_older_nodes_running() then
    update job set state = of_state, outcome = of_outcome, detail = of_detail, finished_at = now(), lease_until = null,
           warm = case when is_counted then warm end
     where id = any (ended);
    return;
  end if;
  with gone as (
    delete from job where id = any (ended) returning *
  )
  insert into job_ended (id, domain_id, path, variant, is_both, priority, state, outcome, detail, created_at, request_id, warm)
    select id, domain_id, path, variant, is_both, priority, of_state, of_outcome, of_detail, created_at, request_id,
           case when is_counted then warm end
      from gone;
end
$$;

-- Ends a job that its caller has locked. One that follows it waits after all others, and counts for the warm in its
-- place; where that one fails, both have failed. Returns how many edges wait for it; the caller tells them after the
-- commit (packages/pages/src/queue/jobs/notices.ts). Nothing tells of the one that follows: the slot of the node that ends
-- this one is free for it.
create or replace function finish_job(ended uuid, of_state text, of_outcome text, of_detail text) returns integer
language plpgsql as $$
declare
  j           job;
  lane        smallint;
  is_followed boolean := false;
begin
  select * into j from job where id = ended;
  if of_state <> 'cancelled' and j.is_both
     and not exists (select from page where page.domain_id = j.domain_id and page.path = j.path
                      and page.variant = 'mobile' and page.rendered_at >= j.created_at) then
    lane := greatest(j.priority, 1);
    insert into job (domain_id, account_id, path, variant, follows, priority, turn, warm)
      values (j.domain_id, j.account_id, j.path, 'mobile', ended, lane,
              coalesce(last_turn(lane, j.account_id, j.domain_id), 0) + 1, j.warm)
      on conflict (domain_id, path, variant) where state in ('queued', 'running') do nothing;
    is_followed := found;
  end if;
  perform end_jobs(array[ended], of_state, of_outcome, of_detail, not is_followed);
  if of_state = 'failed' and j.follows is not null then
    update job set state = of_state, outcome = of_outcome, detail = of_detail where id = j.follows and state = 'done';
    update job_ended set state = of_state, outcome = of_outcome, detail = of_detail where id = j.follows and state = 'done';
  end if;
  return case when j.wait_until > clock_timestamp() then greatest(j.waiters, 0) else 0 end;
end
$$;

-- The same where nobody tells of it after the commit: jobs of dead nodes, and nodes of 0.2.0.
create or replace function end_job(ended uuid, of_state text, of_outcome text, of_detail text) returns void
language plpgsql as $$
begin
  perform pg_notify('job_queued', greatest(priority, 1)::text) from job where id = ended and is_both;
  perform finish_job(ended, of_state, of_outcome, of_detail);
  perform pg_notify('job_done', ended::text);
end
$$;

-- Queues renders of `paths` (all different) and returns the open job of each. `are_both`: for each path, whether
-- `mobile` follows `desktop`. A page that has an open job joins it and raises its priority. No rows: the queue is full.
-- An account, with all its domains, may have at most as many jobs waiting as there is room left: alone it gets half of the
-- queue, two get a third each. A fiftieth of the queue it has in any case, whatever others have filled. What transactions
-- add at the same time is not counted.
--
-- A function, because it needs a lock first and a read afterwards: the snapshot of a single statement is older than the
-- lock it waits for (measured: a cap of 2 let 7 renders run). In a volatile function each statement has its own snapshot.
create or replace function enqueue_jobs(for_domain integer, paths text[], for_variant text, are_both boolean[], lane smallint, bound bigint)
returns table (path text, job_id uuid)
language plpgsql
-- Statistics always lag behind what a queue holds: only its indexes are right, in their own order.
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_incremental_sort = off
as $$
#variable_conflict use_column
declare
  account integer;
  fresh   bigint;
  raised  bigint;
  joined  uuid[];
  joined_paths text[];
  still_there  uuid[];
  own     bigint;
  whole   bigint;
  base    bigint;
begin
  if lane = 0 then
    -- What a crawler asks for need not survive the server: it waits at most for some seconds.
    perform set_config('synchronous_commit', 'off', true);
  end if;
  if lane > 0 or cardinality(paths) > 1 then
    perform pg_advisory_xact_lock(7227, for_domain);
  end if;

  loop
    select count(*) filter (where j.id is null),
           count(*) filter (where j.priority > lane or (asked.is_both and not j.is_both)), array_agg(j.id)
      into fresh, raised, joined
      from unnest(paths, are_both) as asked(path, is_both)
      left join job j on j.domain_id = for_domain and j.path = asked.path and j.variant = for_variant
                     and j.state in ('queued', 'running');
    exit when fresh > 0 or raised > 0;
    if lane > 0 then
      -- A job for crawlers is now for others as well.
      update job j set is_for_waiting = false where j.id = any (joined) and j.is_for_waiting;
    end if;
    -- By id: one that ended a moment ago has its result, and is as good.
    select array_agg(j.path), array_agg(j.id) into joined_paths, still_there from job j where j.id = any (joined);
    if cardinality(still_there) is distinct from cardinality(joined) then
      select joined_paths || array_agg(e.path), still_there || array_agg(e.id) into joined_paths, still_there
        from job_ended e where e.id = any (joined) and e.id <> all (coalesce(still_there, '{}'));
    end if;
    if cardinality(still_there) = cardinality(paths) then
      return query select * from unnest(joined_paths, still_there);
      return;
    end if;
    -- Again: a job was deleted in between, because its last crawler had left.
  end loop;

  select d.account_id into account from domain d where d.id = for_domain;
  if account is null then
    raise foreign_key_violation using message = 'the domain is gone';
  end if;

  if fresh > 0 then
    if lane = 0 then
      select count(*) into whole
        from (select from job where state = 'queued' and priority = 0 limit bound) waiting;
      select count(*) into own
        from (select from job where state = 'queued' and (priority, account_id) >= (0::smallint, account)
                and (priority, account_id) <= (0::smallint, account) limit bound) waiting;
    else
      if exists (select from queue_depth where counted_at < clock_timestamp() - interval '5 seconds')
         and pg_try_advisory_xact_lock(7226, 1) then
        update queue_depth set
          queued = (select coalesce(sum(w.waiting), 0) from queue_waiting w where w.priority > 0),
          counted_at = clock_timestamp();
      end if;
      select queued into whole from queue_depth;
      -- All domains of the account: with as many as an agency has, each of them would take half of what the others left.
      select coalesce(sum(w.waiting), 0) into own from queue_waiting w
       where w.priority in (1, 2) and w.lane = account % 16 and w.account_id = account;
    end if;
    if own + fresh > bound / 50 and own + greatest(own, whole) + 2 * fresh > bound then
      return;
    end if;
  end if;

  base := coalesce(last_turn(lane, account, for_domain), 0);

  -- In the order of paths, so that two that meet here lock rows in the same order.
  insert into job as known (domain_id, account_id, path, variant, is_both, priority, turn, is_for_waiting)
    select for_domain, account, asked.path, for_variant, asked.is_both, lane, base + asked.place, lane = 0
      from unnest(paths, are_both) with ordinality as asked(path, is_both, place)
     order by asked.path collate "C"
    on conflict (domain_id, path, variant) where state in ('queued', 'running')
    do update set priority = least(known.priority, excluded.priority), is_both = known.is_both or excluded.is_both,
                  turn = case when excluded.priority < known.priority then excluded.turn else known.turn end,
                  is_for_waiting = known.is_for_waiting and excluded.is_for_waiting
       where excluded.priority < known.priority or excluded.is_both > known.is_both
          or excluded.is_for_waiting < known.is_for_waiting;
  perform pg_notify('job_queued', lane::text);

  -- All of them are locked by now.
  return query
    select j.path, j.id from job j
     where j.domain_id = for_domain and j.path = any (paths) and j.variant = for_variant
       and j.state in ('queued', 'running');
end
$$;

-- Whether an edge has told that its crawlers wait, and all of them have left or must have.
create or replace function is_abandoned(j job) returns boolean language sql as $$
  select j.wait_until is not null and (j.waiters <= 0 or j.wait_until <= clock_timestamp())
$$;

-- Queues a live job, notes its request, and that an edge waits for it, in one step. As a second statement the note
-- locked the row while the woken node looked for work: the claim skipped it, and the crawler waited up to a second
-- for the next poll. For the same reason a job that is joined wakes the nodes again.
create or replace function enqueue_live_job(
  for_domain integer, for_path text, for_variant text, bound bigint, for_request text, waits interval, for_crawler text)
returns uuid
language plpgsql as $$
declare
  asked uuid;
begin
  loop
    select job_id into asked from enqueue_jobs(for_domain, array[for_path], for_variant, array[false], 0::smallint, bound);
    update job j set
      request_id = coalesce(request_id, for_request),
      crawler = case when state = 'queued' then coalesce(crawler, for_crawler) else crawler end,
      waiters = greatest(waiters, 0) + 1,
      wait_until = greatest(wait_until, clock_timestamp() + waits)
     where id = asked and state in ('queued', 'running');
    -- Again if the job was deleted in between, because its last crawler had left.
    exit when found or asked is null or exists (select from job where id = asked)
      or exists (select from job_ended where id = asked);
  end loop;
  perform pg_notify('job_queued', '0');
  return asked;
end
$$;

-- Live jobs that crawlers wait for and no node runs: of each account the first ones, and how many renders of their
-- domains run.
create or replace function waiting_live_jobs(at_most integer)
returns table (id uuid, account_id integer, domain_id integer, running integer)
language sql
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_incremental_sort = off
as $$
  with recursive account as (
    (select account_id from job
      where state = 'queued' and (priority, account_id) >= (0::smallint, 0)
        and (priority, account_id) <= (0::smallint, 2147483647)
      order by priority, account_id, domain_id, turn, id limit 1)
    union all
    select following.account_id from account, lateral (
      select account_id from job
       where state = 'queued' and (priority, account_id) > (0::smallint, account.account_id)
         and (priority, account_id) <= (0::smallint, 2147483647)
       order by priority, account_id, domain_id, turn, id limit 1) following
  )
  select waiting.id, waiting.account_id, waiting.domain_id,
         coalesce((select r.running from queue_running r where r.domain_id = waiting.domain_id), 0)
    from account, lateral (
      select id, account_id, domain_id from job
       where state = 'queued' and run_at <= clock_timestamp() and not is_abandoned(job)
         and (priority, account_id) >= (0::smallint, account.account_id)
         and (priority, account_id) <= (0::smallint, account.account_id)
       order by priority, account_id, domain_id, turn, id limit at_most) waiting
   limit at_most * 4
$$;

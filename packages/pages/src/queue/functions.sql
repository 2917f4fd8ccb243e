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

-- Ends a job that its caller has locked. One that follows it waits after all others, and counts for the warm in its
-- place; where that one fails, both have failed.
create or replace function end_job(ended uuid, of_state text, of_outcome text, of_detail text) returns void
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
    perform pg_notify('job_queued', lane::text);
  end if;
  update job set state = of_state, outcome = of_outcome, detail = of_detail, finished_at = now(), lease_until = null,
         warm = case when not is_followed then warm end
   where id = ended;
  if of_state = 'failed' then
    update job set state = of_state, outcome = of_outcome, detail = of_detail where id = j.follows and state = 'done';
  end if;
  perform pg_notify('job_done', ended::text);
end
$$;

-- Queues renders of `paths` (all different) and returns the open job of each. `are_both`: for each path, whether
-- `mobile` follows `desktop`. A page that has an open job joins it and raises its priority. No rows: the queue is full.
-- A domain may have at most as many background jobs waiting as there is room left, and an account as many live jobs.
-- Alone it gets half of the queue, two get a third each, and there is always room for another one.
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

  select count(*) filter (where j.id is null),
         count(*) filter (where j.priority > lane or (asked.is_both and not j.is_both)), array_agg(j.id)
    into fresh, raised, joined
    from unnest(paths, are_both) as asked(path, is_both)
    left join job j on j.domain_id = for_domain and j.path = asked.path and j.variant = for_variant
                   and j.state in ('queued', 'running');

  if fresh = 0 and raised = 0 then
    -- By id: one that ended a moment ago has its result, and is as good.
    return query select j.path, j.id from job j where j.id = any (joined);
    return;
  end if;

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
          queued = (select count(*) from job where state = 'queued' and priority > 0),
          counted_at = clock_timestamp();
      end if;
      select queued into whole from queue_depth;
      -- Turns of a domain differ, so their range is never less than the number of its jobs.
      own := 0;
      for line in 1..2 loop
        own := own + coalesce(last_turn(line::smallint, account, for_domain)
                              - first_turn(line::smallint, account, for_domain) + 1, 0);
      end loop;
      if own + greatest(own, whole) + 2 * fresh > bound then
        select count(*) into own from job
         where state = 'queued' and priority in (1, 2) and account_id = account and domain_id = for_domain;
      end if;
    end if;
    if own + greatest(own, whole) + 2 * fresh > bound then
      return;
    end if;
  end if;

  base := coalesce(last_turn(lane, account, for_domain), 0);

  -- In the order of paths, so that two that meet here lock rows in the same order.
  insert into job as known (domain_id, account_id, path, variant, is_both, priority, turn)
    select for_domain, account, asked.path, for_variant, asked.is_both, lane, base + asked.place
      from unnest(paths, are_both) with ordinality as asked(path, is_both, place)
     order by asked.path collate "C"
    on conflict (domain_id, path, variant) where state in ('queued', 'running')
    do update set priority = least(known.priority, excluded.priority), is_both = known.is_both or excluded.is_both,
                  turn = case when excluded.priority < known.priority then excluded.turn else known.turn end
       where excluded.priority < known.priority or excluded.is_both > known.is_both;
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
-- locked the row while the woken node looked for work: `claim_jobs` skipped it, and the crawler waited up to a second
-- for the next poll. For the same reason a job that is joined wakes the nodes again.
create or replace function enqueue_live_job(
  for_domain integer, for_path text, for_variant text, bound bigint, for_request text, waits interval, for_crawler text)
returns uuid
language plpgsql as $$
declare
  asked uuid;
begin
  select job_id into asked from enqueue_jobs(for_domain, array[for_path], for_variant, array[false], 0::smallint, bound);
  update job j set
    request_id = coalesce(request_id, for_request),
    crawler = case when state = 'queued' then coalesce(crawler, for_crawler) else crawler end,
    waiters = greatest(waiters, 0) + 1,
    wait_until = greatest(wait_until, clock_timestamp() + waits)
   where id = asked and state in ('queued', 'running');
  perform pg_notify('job_queued', '0');
  return asked;
end
$$;

-- Claims at most `slots` jobs for a node, at most `background_slots` of them `refresh` or `warm`: `live` before
-- `refresh` before `warm`; accounts take turns, and domains of an account. A domain has at most `domain_cap` running
-- renders over all nodes, and background jobs start only below `background_cap` of them. An account has at most
-- `account_cap` of the node's slots, unless no other account has a domain. `occupied`: the accounts that hold the slots
-- which are not free. The node knows them: a render that was given back or cancelled holds its slot for a moment.
-- `plain`: domains whose pages the node reads without a browser. A background job of theirs brings up to `brought` more
-- of its line along, which together take about as long as one render.
create or replace function claim_jobs(
  by_node text, slots integer, background_slots integer,
  occupied integer[], account_cap integer, domain_cap integer, background_cap integer, lease interval, in_month date,
  plain integer[], brought integer)
returns table (
  job_id uuid, domain_id integer, account_id integer, path text, priority smallint, attempts integer, faults smallint,
  custom_domain text, origin_url text, is_active boolean, plan text, renders integer, lead uuid)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_incremental_sort = off
as $$
#variable_conflict use_column
declare
  is_shared      boolean;
  full_accounts  integer[];
  full_live      integer[];
  full_background integer[];
  lowest         smallint;
  picked         uuid;
  claimed        integer := 0;
  background     integer := 0;
  served         record;
  moment         constant timestamptz := clock_timestamp();
begin
  -- A claim that the server forgets in a crash is a job that is still queued: nothing is lost.
  perform set_config('synchronous_commit', 'off', true);

  if not exists (select from job where state = 'queued') then
    return;
  end if;
  perform pg_advisory_xact_lock(7226, 0);
  select min(d.account_id) < max(d.account_id) into is_shared from domain d;

  while claimed < slots loop
    lowest := case when background < background_slots then 2 else 0 end;
    select coalesce(array_agg(d) filter (where n >= domain_cap), '{}'),
           coalesce(array_agg(d) filter (where n >= background_cap), '{}')
      into full_live, full_background
      from (select j.domain_id as d, count(*) as n from job j
             where j.state = 'running' and not j.is_brought group by 1) busy;
    full_accounts := '{}';
    if is_shared then
      select coalesce(array_agg(a), '{}') into full_accounts
        from (select a from unnest(occupied) a group by a having count(*) >= account_cap) busy;
    end if;

    picked := next_job(lowest, full_accounts, full_live, full_background);
    exit when picked is null;

    claimed := claimed + 1;
    select j.priority, j.account_id, j.domain_id into served from job j where j.id = picked;
    return query
      with line as materialized (
        select j.id from job j
         where served.priority > 0 and served.domain_id = any (plain) and j.id <> picked
           and j.state = 'queued' and j.run_at <= moment
           and (j.priority, j.account_id, j.domain_id) >= (served.priority, served.account_id, served.domain_id)
           and (j.priority, j.account_id, j.domain_id) <= (served.priority, served.account_id, served.domain_id)
         order by j.priority, j.account_id, j.domain_id, j.turn, j.id limit brought
           for update skip locked
      ), taken as (
        update job j set state = 'running', node = by_node, attempts = j.attempts + 1, is_brought = j.id <> picked,
               lease_until = clock_timestamp() + lease, started_at = clock_timestamp()
         where j.id = any (picked || array(select line.id from line))
        returning j.*)
      select t.id, t.domain_id, t.account_id, t.path, t.priority, t.attempts, t.faults,
             d.custom_domain, d.origin_url, d.is_active, a.plan, coalesce(c.renders, 0), picked
        from taken t
        join domain d on d.id = t.domain_id
        join account a on a.id = d.account_id
        left join render_count c on c.domain_id = t.domain_id and c.month = in_month;
    update queue_account q set account_id = served.account_id
     where q.priority = served.priority and q.account_id <> served.account_id;
    insert into queue_domain as q (priority, account_id, domain_id)
      values (served.priority, served.account_id, served.domain_id)
      on conflict (priority, account_id) do update set domain_id = excluded.domain_id
         where q.domain_id <> excluded.domain_id;
    background := background + least(served.priority, 1);
    occupied := occupied || served.account_id;
  end loop;
end
$$;

-- Locks and returns the next job that may run; null when there is none. Both loops begin after the one that was served
-- last, and go round: pass 1 to the end, pass 2 from the start. Each step is one look into `job_line`, however many
-- jobs an account or a domain has waiting.
create or replace function next_job(lowest smallint, full_accounts integer[], full_live integer[], full_background integer[])
returns uuid
language plpgsql as $$
#variable_conflict use_column
declare
  last_account integer;
  account      integer;
  picked       uuid;
begin
  for lane in 0..lowest loop
    select q.account_id into last_account from queue_account q where q.priority = lane;
    for pass in 1..2 loop
      account := case pass when 1 then last_account else 0 end;
      loop
        select account_id into account from job
         where state = 'queued' and (priority, account_id) > (lane::smallint, account)
           and (priority, account_id) <= (lane::smallint, case pass when 1 then 2147483647 else last_account end)
         order by priority, account_id, domain_id, turn, id limit 1;
        exit when account is null;
        continue when account = any (full_accounts);
        picked := next_job_of(lane::smallint, account, case lane when 0 then full_live else full_background end);
        if picked is not null then return picked; end if;
      end loop;
    end loop;
  end loop;
  return null;
end
$$;

create or replace function next_job_of(lane smallint, account integer, full_domains integer[]) returns uuid
language plpgsql as $$
#variable_conflict use_column
declare
  last_domain integer;
  domain      integer;
  candidate   record;
  picked      uuid;
  -- One value for a whole search: a condition on it is checked once, not for each row.
  moment      constant timestamptz := clock_timestamp();
begin
  select q.domain_id into last_domain from queue_domain q where q.priority = lane and q.account_id = account;
  last_domain := coalesce(last_domain, 0);
  for pass in 1..2 loop
    domain := case pass when 1 then last_domain else 0 end;
    loop
      select domain_id into domain from job
       where state = 'queued' and (priority, account_id, domain_id) > (lane, account, domain)
         and (priority, account_id, domain_id)
             <= (lane, account, case pass when 1 then 2147483647 else last_domain end)
       order by priority, account_id, domain_id, turn, id limit 1;
      exit when domain is null;
      continue when domain = any (full_domains);
      for candidate in
        select id, is_abandoned(job) as is_abandoned from job
         where state = 'queued' and run_at <= moment
           and (priority, account_id, domain_id) >= (lane, account, domain)
           and (priority, account_id, domain_id) <= (lane, account, domain)
         order by priority, account_id, domain_id, turn, id limit 200
      loop
        select id into picked from job where id = candidate.id and state = 'queued' for update skip locked;
        continue when picked is null;
        if lane > 0 or not candidate.is_abandoned then return picked; end if;
        -- All crawlers have left: it is rendered when no crawler waits.
        update job j set priority = 1, turn = coalesce(last_turn(1::smallint, account, domain), 0) + 1,
               waiters = 0, wait_until = null
         where id = picked and is_abandoned(j);
      end loop;
    end loop;
  end loop;
  return null;
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
         (select count(*)::integer from job r
           where r.domain_id = waiting.domain_id and r.state = 'running' and not r.is_brought)
    from account, lateral (
      select id, account_id, domain_id from job
       where state = 'queued' and run_at <= clock_timestamp() and not is_abandoned(job)
         and (priority, account_id) >= (0::smallint, account.account_id)
         and (priority, account_id) <= (0::smallint, account.account_id)
       order by priority, account_id, domain_id, turn, id limit at_most) waiting
   limit at_most * 4
$$;

-- What a claimed job needs to know of its domain at the moment of the claim. Volatile, to have its own snapshot: the
-- claiming statement's is older than the lock it waits for, and missed settings that were saved meanwhile.
create or replace function claim_details(for_domain integer, for_job uuid)
returns table (
  visitor jsonb, query jsonb, origin_cache_control text, is_probe boolean, queued_ms float8, wait_left_ms float8,
  rules jsonb, crawler text, tried jsonb, variant text, is_compared boolean, sealed_headers bytea, request_id text)
language sql volatile as $$
  select settings -> 'render', settings -> 'query', settings ->> 'origin_cache_control',
         exists (select from probe where job_id = for_job),
         extract(epoch from clock_timestamp() - j.created_at) * 1000,
         extract(epoch from j.wait_until - clock_timestamp()) * 1000,
         settings -> 'rules', j.crawler,
         (select r.tried from rule_try r where job_id = for_job),
         j.variant,
         exists (select from device_page c where c.domain_id = d.id and c.path = j.path
                   and (c.checked_at is null or c.checked_at < c.requested_at)),
         (select key_sealed from origin_header where domain_id = for_domain), j.request_id
    from domain d
    left join job j on j.id = for_job
   where d.id = for_domain
$$;

-- How the last crawler spelt a page's address. A function, for a snapshot of its own: a claim that began before the
-- crawler asked may get its job.
create or replace function spelling_of(of_domain integer, of_path text) returns text
language sql volatile as $$
  select spelling from page_spelling where domain_id = of_domain and path = of_path
$$;

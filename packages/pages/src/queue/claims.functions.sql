-- Claims in lanes, and the counts that they read: docs/decisions/0076-claims-in-lanes.md.

-- Takes jobs that a claim has off what waits, and puts the rows of their domain together. Call it under the lock of the
-- lane: nobody else changes these rows. Returns false if there was nothing to do.
create or replace function take_waiting(of_priority smallint, of_account integer, of_domain integer, taken integer)
returns boolean
language plpgsql as $$
declare
  places tid[];
  left_waiting integer;
begin
  select array_agg(place), sum(waiting) - taken into places, left_waiting
    from (select ctid as place, waiting from queue_waiting
           where priority = of_priority and lane = of_account % 16 and account_id = of_account and domain_id = of_domain
             for update) line;
  if places is null then
    if taken <> 0 then
      insert into queue_waiting (priority, account_id, domain_id, waiting) values (of_priority, of_account, of_domain, -taken);
    end if;
    return taken <> 0;
  end if;
  if left_waiting <> 0 then
    if taken = 0 and cardinality(places) = 1 then
      return false;
    end if;
    update queue_waiting set waiting = left_waiting where ctid = places[1];
    places := places[2:];
  end if;
  if cardinality(places) > 0 then
    delete from queue_waiting where ctid = any (places);
  end if;
  return true;
end
$$;

create or replace function count_added_jobs() returns trigger language plpgsql as $$
begin
  insert into queue_waiting (priority, account_id, domain_id, waiting)
    select priority, account_id, domain_id, count(*) from added where state = 'queued'
     group by priority, account_id, domain_id;
  if exists (select from added where state = 'running' and not is_brought) then
    insert into queue_running as known (domain_id, account_id, running)
      select domain_id, min(account_id), count(*) from added where state = 'running' and not is_brought
       group by domain_id order by domain_id
      on conflict (domain_id) do update set running = known.running + excluded.running;
  end if;
  return null;
end
$$;

-- Rows of `queue_running` are locked in the order of their domains, as everywhere, so that two that meet do not deadlock.
create or replace function count_changed_jobs() returns trigger language plpgsql as $$
declare
  job  record;
  more integer;
  line record;
begin
  select count(*) as jobs, min(n.account_id) as account_id, min(n.domain_id) as domain_id, min(n.priority) as priority,
         min(n.state) as state, bool_or(n.is_brought) as is_brought,
         min(f.priority) as former_priority, min(f.state) as former_state, bool_or(f.is_brought) as was_brought
    into job
    from (select account_id, domain_id, priority, state, is_brought from changed limit 2) n
    cross join (select priority, state, is_brought from former limit 2) f;
  if job.jobs = 0 then
    return null;
  end if;

  -- The short way of a single job, which most statements change.
  if job.jobs = 1 then
    if job.former_state = 'queued' and job.state = 'running' then
      perform take_waiting(job.former_priority, job.account_id, job.domain_id, 1);
    elsif job.former_state <> job.state or job.former_priority <> job.priority then
      if job.former_state = 'queued' then
        insert into queue_waiting (priority, account_id, domain_id, waiting)
          values (job.former_priority, job.account_id, job.domain_id, -1);
      end if;
      if job.state = 'queued' then
        insert into queue_waiting (priority, account_id, domain_id, waiting)
          values (job.priority, job.account_id, job.domain_id, 1);
      end if;
    end if;
    more := (job.state = 'running' and not job.is_brought)::integer
            - (job.former_state = 'running' and not job.was_brought)::integer;
    if more <> 0 then
      insert into queue_running as known (domain_id, account_id, running) values (job.domain_id, job.account_id, more)
        on conflict (domain_id) do update set running = known.running + excluded.running;
    end if;
    return null;
  end if;

  for line in
    select priority, account_id, domain_id, sum(queued)::integer as queued, sum(running)::integer as running
      from (select priority, account_id, domain_id, (state = 'queued')::integer as queued, (state = 'running')::integer as running
              from changed where state in ('queued', 'running')
            union all
            select priority, account_id, domain_id, -(state = 'queued')::integer, -(state = 'running')::integer
              from former where state in ('queued', 'running')) each_job
     group by priority, account_id, domain_id
    having sum(queued) <> 0
  loop
    if line.queued = -line.running and line.queued < 0 then
      perform take_waiting(line.priority, line.account_id, line.domain_id, line.running);
    else
      insert into queue_waiting (priority, account_id, domain_id, waiting)
        values (line.priority, line.account_id, line.domain_id, line.queued);
    end if;
  end loop;
  insert into queue_running as known (domain_id, account_id, running)
    select domain_id, min(account_id), sum(running)
      from (select domain_id, account_id, 1 as running from changed where state = 'running' and not is_brought
            union all
            select domain_id, account_id, -1 from former where state = 'running' and not is_brought) each_job
     group by domain_id having sum(running) <> 0 order by domain_id
    on conflict (domain_id) do update set running = known.running + excluded.running;
  return null;
end
$$;

create or replace function count_deleted_jobs() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then
    delete from queue_waiting;
    update queue_running set running = 0;
    return null;
  end if;
  insert into queue_waiting (priority, account_id, domain_id, waiting)
    select priority, account_id, domain_id, -count(*) from removed where state = 'queued'
     group by priority, account_id, domain_id;
  insert into queue_running as known (domain_id, account_id, running)
    select domain_id, min(account_id), -count(*) from removed where state = 'running' and not is_brought
     group by domain_id order by domain_id
    on conflict (domain_id) do update set running = known.running + excluded.running;
  return null;
end
$$;

create or replace trigger job_added_counts after insert on job referencing new table as added
  for each statement execute function count_added_jobs();
create or replace trigger job_changed_counts after update on job referencing old table as former new table as changed
  for each statement execute function count_changed_jobs();
create or replace trigger job_deleted_counts after delete on job referencing old table as removed
  for each statement execute function count_deleted_jobs();
create or replace trigger job_truncated_counts after truncate on job
  for each statement execute function count_deleted_jobs();

-- Compares the counts with the jobs, and adds the differences to the counts, unless that was done in the last `every`. With
-- null it compares them in any case, and does not note that it did.
-- Returns how many differed: 0, unless a trigger was switched off. One statement has one snapshot, in which counts and
-- jobs agree, whatever is under way; a difference stays right while others count on.
create or replace function correct_queue_counts(every interval) returns integer
language plpgsql as $$
declare
  corrected integer;
begin
  if every is not null then
    if not exists (select from queue_compared where compared_at < clock_timestamp() - every)
       or not pg_try_advisory_xact_lock(7226, 2) then
      return 0;
    end if;
    update queue_compared set compared_at = clock_timestamp();
  end if;
  with waits as (
    select priority, account_id, domain_id, sum(difference)::integer as difference
      from (select priority, account_id, domain_id, count(*) as difference from job where state = 'queued'
             group by priority, account_id, domain_id
            union all
            select priority, account_id, domain_id, -waiting from queue_waiting) each_count
     group by priority, account_id, domain_id
    having sum(difference) <> 0
  ), runs as (
    select domain_id, min(account_id) as account_id, sum(difference)::integer as difference
      from (select domain_id, account_id, count(*) as difference from job where state = 'running' and not is_brought
             group by domain_id, account_id
            union all
            select domain_id, account_id, -running from queue_running) each_count
     group by domain_id
    having sum(difference) <> 0
  ), waits_corrected as (
    insert into queue_waiting (priority, account_id, domain_id, waiting)
      select priority, account_id, domain_id, difference from waits
    returning 1
  ), runs_corrected as (
    insert into queue_running as known (domain_id, account_id, running)
      select domain_id, account_id, difference from runs order by domain_id
      on conflict (domain_id) do update set running = known.running + excluded.running
    returning 1
  )
  select (select count(*) from waits_corrected) + (select count(*) from runs_corrected) into corrected;
  delete from queue_running r where running = 0 and not exists (select from domain d where d.id = r.domain_id);
  return corrected;
end
$$;

-- After an upgrade. The triggers have locked `job` until the end of this transaction: what was there before them is counted
-- exactly.
select correct_queue_counts(null) from queue_compared where compared_at = '-infinity';

-- Finds and locks the job that is next in a lane. Accounts go round: from the one after the one that was served last to the
-- end, then from the start. So do the domains of an account. `taken` and `taken_domains`: what the same claim has already. `last_domain`: the one that
-- was served before. `has_changed`: jobs were put into another priority, or rows of counts together. Advisory locks of domains are kept to the end of
-- the claim, and the server has room for few: only domains with a job that may run are locked, and after 64 of them without one that could be taken
-- the search ends as if it had changed something.
create or replace function next_in_lane(
  of_priority smallint, of_lane smallint, full_accounts integer[], cap integer, taken uuid[], taken_domains integer[],
  out picked uuid, out account integer, out domain integer, out last_domain integer, out has_changed boolean)
language plpgsql as $$
#variable_conflict use_column
declare
  account_start integer;
  account_end   integer := 2147483647;
  domain_end    integer;
  running       integer;
  is_abandoned  boolean;
  locked        integer := 0;
  -- One value for a whole search: a condition on it is checked once, not for each row.
  moment        constant timestamptz := clock_timestamp();
begin
  has_changed := false;
  select q.account_id into account_start from queue_lane q where q.priority = of_priority and q.lane = of_lane;
  account := account_start;
  loop
    select w.account_id into account from queue_waiting w
     where w.priority = of_priority and w.lane = of_lane and w.account_id > account and w.account_id <= account_end
     order by w.priority, w.lane, w.account_id limit 1;
    if account is null then
      exit when account_end = account_start;
      account := 0;
      account_end := account_start;
      continue;
    end if;
    continue when account = any (full_accounts);

    select q.domain_id into last_domain from queue_domain q where q.priority = of_priority and q.account_id = account;
    last_domain := coalesce(last_domain, 0);
    domain := last_domain;
    domain_end := 2147483647;
    loop
      select w.domain_id into domain from queue_waiting w
       where w.priority = of_priority and w.lane = of_lane and w.account_id = account
         and w.domain_id > domain and w.domain_id <= domain_end
       order by w.priority, w.lane, w.account_id, w.domain_id limit 1;
      if domain is null then
        exit when domain_end = last_domain;
        domain := 0;
        domain_end := last_domain;
        continue;
      end if;
      select r.running into running from queue_running r where r.domain_id = domain;
      continue when coalesce(running, 0) + cardinality(array_positions(taken_domains, domain)) >= cap;
      -- The order leaves the planner one index, `job_line`: by another one it would read the jobs of all accounts.
      if not exists (select from (
           select id from job
            where state = 'queued' and run_at <= moment and id <> all (taken)
              and (priority, account_id, domain_id) >= (of_priority, account, domain)
              and (priority, account_id, domain_id) <= (of_priority, account, domain)
            order by priority, account_id, domain_id, turn, id limit 1) line) then
        if first_turn(of_priority, account, domain) is null then
          has_changed := take_waiting(of_priority, account, domain, 0) or has_changed;
        end if;
        continue;
      end if;
      -- A change of the domain is under way, which wakes the nodes when it is done: no claim waits for it.
      continue when not pg_try_advisory_xact_lock_shared(7228, domain);
      loop
        -- `lateral`: the planner may join in no other order. Jobs are locked one at a time. `coalesce`: a plan that was made while
        -- few jobs waited would look for the id in an index of waiting jobs, in which it reads all.
        select locked.id, locked.is_abandoned into picked, is_abandoned
          from (select id from job
                 where state = 'queued' and run_at <= moment and id <> all (taken)
                   and (priority, account_id, domain_id) >= (of_priority, account, domain)
                   and (priority, account_id, domain_id) <= (of_priority, account, domain)
                 order by priority, account_id, domain_id, turn, id limit 200) line
          cross join lateral (
            select job.id, is_abandoned(job) as is_abandoned from job
             where job.id = line.id and coalesce(state, '') = 'queued' for update skip locked) locked
         limit 1;
        exit when picked is null;
        if of_priority > 0 or not is_abandoned then
          return;
        end if;
        -- All crawlers have left: it is rendered when no crawler waits.
        update job j set priority = 1, turn = coalesce(last_turn(1::smallint, account, domain), 0) + 1,
               waiters = 0, wait_until = null, is_for_waiting = false
         where id = picked;
        has_changed := true;
      end loop;
      if first_turn(of_priority, account, domain) is null then
        has_changed := take_waiting(of_priority, account, domain, 0) or has_changed;
      end if;
      locked := locked + 1;
      if locked = 64 then
        has_changed := true;
        return;
      end if;
    end loop;
  end loop;
end
$$;

-- Notes that a lane was served: `turn` is its place in the order of lanes, `least_turn` that of the first.
create or replace function serve_lane(of_priority smallint, of_lane smallint, turn float8, least_turn float8, account integer)
returns void
language plpgsql as $$
declare
  line         queue_lane;
  counted      integer := 0;
  each_account integer := 0;
begin
  update queue_lane set
    served = greatest(served, turn) + 1.0 / accounts, least_served = greatest(least_served, least_turn), account_id = account
   where priority = of_priority and lane = of_lane
  returning * into line;
  -- A step for each account: those of many accounts are counted more seldom.
  if line.counted_at > clock_timestamp() - line.accounts * interval '20 milliseconds' then
    return;
  end if;
  loop
    select account_id into each_account from queue_waiting
     where priority = of_priority and lane = of_lane and account_id > each_account
     order by priority, lane, account_id limit 1;
    exit when each_account is null;
    counted := counted + 1;
  end loop;
  update queue_lane set accounts = greatest(counted, 1), counted_at = clock_timestamp()
   where priority = of_priority and lane = of_lane;
end
$$;

-- Claims at most `slots` jobs for a node, at most `background_slots` of them `refresh` or `warm`: `live` before
-- `refresh` before `warm`; accounts take turns, and domains of an account. A domain has at most `domain_cap` running
-- renders over all nodes, and background jobs start only below `background_cap` of them. An account has at most
-- `account_cap` of the node's slots, unless no other account has a domain. `occupied`: the accounts that hold the slots
-- which are not free. The node knows them: a render that was given back or cancelled holds its slot for a moment.
-- `plain`: domains whose pages the node reads without a browser. A background job of theirs brings up to `brought` more
-- of its line along, which together take about as long as one render.
--
-- Lanes take turns too. Next is the one that was served least for each account that waits in it; a lane that gets work
-- after a rest, or that had nothing that may run, begins at the least of the others. While other claims hold the first
-- ones, a lane that is at most one turn ahead may be served. Otherwise the claim waits for the first one, but never while
-- it holds another lane: then it ends, and `is_more` says that the node asks again. A row without a job says only that.
create or replace function claim_from_lanes(
  by_node text, slots integer, background_slots integer,
  occupied integer[], account_cap integer, domain_cap integer, background_cap integer, lease interval, in_month date,
  plain integer[], brought integer)
returns table (
  job_id uuid, domain_id integer, account_id integer, path text, priority smallint, attempts integer, faults smallint,
  custom_domain text, origin_url text, is_active boolean, plan text, renders integer, lead uuid, is_more boolean,
  visitor jsonb, query jsonb, origin_cache_control text, rules jsonb, is_probe boolean, tried jsonb, is_compared boolean,
  sealed_headers bytea, variant text, spelling text, crawler text, request_id text, queued_ms float8, wait_left_ms float8)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_incremental_sort = off
-- Before PostgreSQL 18, what is switched off here counts as very expensive, and would be compiled for seconds.
set plan_cache_mode = force_generic_plan set jit = off
as $$
#variable_conflict use_column
declare
  is_shared     boolean;
  full_accounts integer[] := '{}';
  -- The jobs of this claim, and for each the job whose slot it has.
  taken         uuid[] := '{}';
  leads         uuid[] := '{}';
  -- The domains of those that have a slot.
  taken_domains integer[] := '{}';
  line          uuid[];
  background    integer := 0;
  level         smallint;
  lanes         smallint[];
  turns         float8[];
  -- Lanes that have nothing which may run now.
  idle          smallint[];
  first         integer;
  place         integer;
  waits         boolean;
  holds_lane    boolean := false;
  found_job     record;
  moment        constant timestamptz := clock_timestamp();
begin
  -- A claim that the server forgets in a crash is a job that is still queued: nothing is lost.
  perform set_config('synchronous_commit', 'off', true);
  is_more := false;

  select q.priority into level from queue_waiting q order by q.priority limit 1;
  if level is null then
    return;
  end if;
  -- Nodes of 0.2.0 claim under this lock, and wait for claims by it.
  perform pg_advisory_xact_lock_shared(7226, 0);

  <<priorities>>
  while level is not null loop
    idle := '{}';
    loop
      exit priorities when cardinality(taken_domains) >= slots or (level > 0 and background >= background_slots);
      if cardinality(occupied) >= account_cap then
        if is_shared is null then
          select min(d.account_id) < max(d.account_id) into is_shared from domain d;
        end if;
        if is_shared then
          full_accounts := array(select a from unnest(occupied) a group by a having count(*) >= account_cap);
        end if;
      end if;
      select array_agg(lane), array_agg(turn) into lanes, turns
        from (select q.lane, greatest(q.served, (select max(l.least_served) from queue_lane l where l.priority = level)) as turn
                from queue_lane q where q.priority = level order by turn, lane) each_lane;

      -- The place in `lanes` of the first one with work, and of the one at hand.
      first := null;
      place := 1;
      found_job := null;
      loop
        while place <= cardinality(lanes) loop
          exit when lanes[place] <> all (idle)
            and exists (select from queue_waiting q where q.priority = level and q.lane = lanes[place]);
          place := place + 1;
        end loop;
        waits := first is not null and (place > cardinality(lanes) or turns[place] > turns[first] + 1);
        exit when place > cardinality(lanes) and not waits;
        if waits then
          if holds_lane then
            is_more := true;
            exit priorities;
          end if;
          place := first;
        end if;
        first := coalesce(first, place);
        -- A block with a handler gives the lock back if there is nothing to claim.
        begin
          if waits then
            perform pg_advisory_xact_lock(7226, 16 + lanes[place]);
          elsif not pg_try_advisory_xact_lock(7226, 16 + lanes[place]) then
            place := place + 1;
            continue;
          end if;
          select * into found_job from next_in_lane(level, lanes[place], full_accounts,
            case level when 0 then domain_cap else background_cap end, taken, taken_domains);
          if found_job.picked is null and not found_job.has_changed then
            raise exception 'nothing to claim in lane %', lanes[place] using errcode = 'PLANE';
          end if;
          holds_lane := true;
        exception when sqlstate 'PLANE' then
        end;
        exit;
      end loop;

      -- No lane is left.
      exit when place > cardinality(lanes);
      if found_job.picked is null then
        -- What was changed may be claimed now, or was not all that there is.
        is_more := is_more or found_job.has_changed;
        idle := idle || lanes[place];
        continue;
      end if;
      line := '{}';
      if level > 0 and found_job.domain = any (plain) then
        line := array(
          select j.id from job j
           where j.state = 'queued' and j.run_at <= moment and j.id <> found_job.picked and j.id <> all (taken)
             and (j.priority, j.account_id, j.domain_id) >= (level, found_job.account, found_job.domain)
             and (j.priority, j.account_id, j.domain_id) <= (level, found_job.account, found_job.domain)
           order by j.priority, j.account_id, j.domain_id, j.turn, j.id limit brought
             for update skip locked);
      end if;
      taken := taken || found_job.picked || line;
      leads := leads || array_fill(found_job.picked, array[1 + cardinality(line)]);
      taken_domains := taken_domains || found_job.domain;
      background := background + least(level, 1);
      occupied := occupied || found_job.account;
      perform serve_lane(level, lanes[place], turns[place], turns[first], found_job.account);
      if found_job.last_domain <> found_job.domain then
        insert into queue_domain (priority, account_id, domain_id) values (level, found_job.account, found_job.domain)
          on conflict (priority, account_id) do update set domain_id = excluded.domain_id;
      end if;
    end loop;
    select q.priority into level from queue_waiting q where q.priority > level order by q.priority limit 1;
  end loop;

  if cardinality(taken) = 0 then
    if is_more then
      return next;
    end if;
    return;
  end if;
  -- This statement has a snapshot of its own, newer than the locks: what a change saved before this claim is seen.
  return query
    with claimed as (
      update job j set state = 'running', node = by_node, attempts = j.attempts + 1, is_brought = j.id <> t.lead,
             lease_until = clock_timestamp() + lease, started_at = clock_timestamp()
        from unnest(taken, leads) with ordinality as t (id, lead, at)
       where j.id = t.id
      returning j.*, t.lead, t.at)
    select t.id, t.domain_id, t.account_id, t.path, t.priority, t.attempts, t.faults,
           d.custom_domain, d.origin_url, d.is_active, a.plan, coalesce(c.renders, 0), t.lead, is_more,
           d.settings -> 'render', d.settings -> 'query', d.settings ->> 'origin_cache_control', d.settings -> 'rules',
           exists (select from probe p where p.job_id = t.id),
           (select r.tried from rule_try r where r.job_id = t.id),
           exists (select from device_page p where p.domain_id = t.domain_id and p.path = t.path
                     and (p.checked_at is null or p.checked_at < p.requested_at)),
           (select h.key_sealed from origin_header h where h.domain_id = t.domain_id),
           t.variant,
           (select s.spelling from page_spelling s where s.domain_id = t.domain_id and s.path = t.path),
           t.crawler, t.request_id,
           extract(epoch from clock_timestamp() - t.created_at)::float8 * 1000,
           extract(epoch from t.wait_until - clock_timestamp())::float8 * 1000
      from claimed t
      join domain d on d.id = t.domain_id
      join account a on a.id = d.account_id
      left join render_count c on c.domain_id = t.domain_id and c.month = in_month
     order by t.at;
end
$$;

-- Nodes of 0.2.0 call it. They poll after a second where `is_more`.
create or replace function claim_jobs(
  by_node text, slots integer, background_slots integer,
  occupied integer[], account_cap integer, domain_cap integer, background_cap integer, lease interval, in_month date,
  plain integer[], brought integer)
returns table (
  job_id uuid, domain_id integer, account_id integer, path text, priority smallint, attempts integer, faults smallint,
  custom_domain text, origin_url text, is_active boolean, plan text, renders integer, lead uuid)
language sql as $$
  select job_id, domain_id, account_id, path, priority, attempts, faults, custom_domain, origin_url, is_active, plan, renders, lead
    from claim_from_lanes(by_node, slots, background_slots, occupied, account_cap, domain_cap, background_cap, lease, in_month,
                          plain, brought)
   where job_id is not null
$$;

-- Nodes of 0.2.0: what a claimed job needs to know of its domain.
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

-- Nodes of 0.2.0: the search of a claim that is under way during an upgrade.
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
               waiters = 0, wait_until = null, is_for_waiting = false
         where id = picked and is_abandoned(j);
      end loop;
    end loop;
  end loop;
  return null;
end
$$;


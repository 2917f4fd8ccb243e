-- Asks for a task in the transaction of the caller. A waiting task keeps the earlier time, and one that failed its back-off.
create or replace function ask_task(
  of_kind text, of_key text, of_account integer default 0, at timestamptz default clock_timestamp(),
  with_payload jsonb default '{}'
) returns void language plpgsql as $$
begin
  -- The lock keeps nodes from taking the task before this transaction commits: they would not see what it is about.
  -- Transactions that ask for the same task share the lock, so that they do not wait for each other.
  perform from task
    where kind = of_kind and key = of_key and lease is null and (due_at <= at or failures > 0) and payload = with_payload
      for share;
  if found then return; end if;
  insert into task as known (kind, key, account_id, due_at, payload)
  values (of_kind, of_key, of_account, at, with_payload)
  on conflict (kind, key) do update set
    payload = excluded.payload,
    due_at = case when known.lease is null and known.failures = 0 then least(known.due_at, excluded.due_at)
                  else known.due_at end,
    asked_again = case when known.lease is not null then least(known.asked_again, excluded.due_at) end;
  -- Nodes find what is due later when they look for lost notifications.
  if at <= clock_timestamp() + interval '1 minute' then
    perform pg_notify('task', of_kind || ' ' || ceil(greatest(0, extract(epoch from at - clock_timestamp())) * 1000));
  end if;
end
$$;

-- The subject is gone: the node that works on it stops when it renews the lease.
create or replace function drop_task(of_kind text, of_key text) returns void language sql as $$
  delete from task where kind = of_kind and key = of_key
$$;

-- Takes at most `room` due tasks of a kind. Tasks that failed come last; accounts take turns, and those with the fewest
-- tasks under way come first; an account has at most `per_account` under way over all nodes. `recent`: numbers by account;
-- an account takes its turn as if it had at least so many under way.
create or replace function claim_tasks(
  of_kind text, room integer, per_account integer, lease_for interval, recent jsonb default '{}'
)
returns setof task language plpgsql
-- Statistics lag behind what waits.
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  moment     constant timestamptz := clock_timestamp();
  few        constant integer := 500;
  is_backlog boolean;
begin
  -- One claim of a kind at a time: concurrent claims would exceed the limit of an account.
  perform pg_advisory_xact_lock(hashtext('task'), hashtext(of_kind));
  update task set lease = null, lease_until = null, asked_again = null, failures = failures + 1
   where (kind, key) in (select kind, key from task
                          where kind = of_kind and lease is not null and lease_until < moment for update skip locked);
  select count(*) > few into is_backlog
    from (select from task where kind = of_kind and lease is null and due_at <= moment limit few + 1) due;
  return query
  with recursive busy as (
    select account_id, count(*) as under_way from task where kind = of_kind and lease is not null group by account_id
  ), account as (
    -- One step for each account with a waiting task. Only for a backlog: it takes 0.1 ms an account.
    (select account_id from task where is_backlog and kind = of_kind and lease is null order by account_id limit 1)
    union all
    select (select t.account_id from task t where t.kind = of_kind and t.lease is null and t.account_id > a.account_id
             order by t.account_id limit 1) from account a where a.account_id is not null
  ), due as (
    select t.kind, t.key, t.account_id, t.failures > 0 as has_failed, t.due_at from task t
     where not is_backlog and t.kind = of_kind and t.lease is null and t.due_at <= moment
    union all
    select first.* from account a cross join (values (false), (true)) f (has_failed)
     cross join lateral (
       select t.kind, t.key, t.account_id, t.failures > 0, t.due_at from task t
        where t.kind = of_kind and t.lease is null and t.account_id = a.account_id and (t.failures > 0) = f.has_failed
          and t.due_at <= moment
        order by t.due_at limit room) first
     where a.account_id is not null
  ), placed as (
    select d.*, coalesce(b.under_way, 0) as under_way,
           row_number() over (partition by d.account_id order by d.has_failed, d.due_at, d.key) as place
      from due d left join busy b on b.account_id = d.account_id
  ), chosen as materialized (
    select p.kind, p.key from placed p where p.under_way + p.place <= per_account
     order by p.has_failed,
              greatest(p.under_way, coalesce((recent ->> p.account_id::text)::integer, 0)) + p.place, p.due_at, p.key limit room
  ), free as materialized (
    -- A transaction that asks for a task has it locked: it is taken after that.
    select t.kind, t.key from task t join chosen c on c.kind = t.kind and c.key = t.key for update of t skip locked
  )
  update task t set lease = gen_random_uuid(), lease_until = moment + lease_for, asked_again = null
    from free f where t.kind = f.kind and t.key = f.key
  returning t.*;
end
$$;

-- Gives a task back. `again`: when it is due again; null: it is done, and deleted unless it was asked for meanwhile.
-- `failed`: the number of failures in a row. False: another node has the task.
create or replace function end_task(of_kind text, of_key text, of_lease uuid, again interval, failed integer)
returns boolean language plpgsql as $$
begin
  loop
    update task set lease = null, lease_until = null, asked_again = null, failures = failed,
           due_at = case when failed > 0 then clock_timestamp() + again
                         else least(clock_timestamp() + again, asked_again) end
     where kind = of_kind and key = of_key and lease = of_lease and (again is not null or asked_again is not null);
    if found then return true; end if;
    delete from task where kind = of_kind and key = of_key and lease = of_lease and asked_again is null;
    if found then return true; end if;
    perform from task where kind = of_kind and key = of_key and lease = of_lease;
    if not found then return false; end if;
  end loop;
end
$$;

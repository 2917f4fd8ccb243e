create or replace function incident_json(i incident, domain_name text) returns json language sql stable as $$
  select json_build_object('id', i.id, 'domain', domain_name, 'kind', i.kind, 'state', i.state,
    'since', iso_time(i.since), 'opened_at', iso_time(i.opened_at), 'resolved_at', iso_time(i.resolved_at),
    'resolution', i.resolution, 'summary', i.summary, 'evidence', i.evidence,
    'acknowledged', (select json_build_object('by', a.acknowledged_by, 'at', iso_time(a.acknowledged_at), 'note', a.note)
                       from incident_acknowledged a where a.incident_id = i.id))
$$;

-- Nodes with an open dashboard hear of it.
create or replace function announce_incident(i incident, domain_name text) returns void language sql volatile as $$
  select pg_notify('incident', json_build_object('account', i.account_id, 'domain_id', i.domain_id, 'data', json_build_object(
           'id', i.id, 'domain', domain_name, 'kind', i.kind, 'state', i.state))::text)
$$;

-- A delivery with what it takes to send it. `seconds`: Unix time of the attempt.
create or replace view claimed as
  select d.id, d.lease, d.account_id, d.channel_id, d.attempts, d.replay_of, d.event_id, v.type, v.body,
         extract(epoch from d.last_attempt_at - d.created_at)::float8 * 1000 as age_ms,
         floor(extract(epoch from d.last_attempt_at))::float8 as seconds,
         a.plan, c.address, c.format, c.state as channel_state, c.key_sealed, c.confirm_round
    from delivery d join event v on v.id = d.event_id join account a on a.id = d.account_id
    join channel c on c.id = d.channel_id;

create or replace function event_body(type text, data json) returns text language sql volatile as $$
  select format('{"type":%s,"timestamp":%s,"data":%s}', to_json(type), to_json(iso_time(clock_timestamp())), data)
$$;

-- Records an event and its deliveries, unless an event has this key. `to_channel`: only this one, whatever its state.
-- Addresses that are limited to domains get events of these only. An account keeps the newest 10,000 waiting deliveries.
create or replace function record_event(
  of_account integer, of_domain integer, of_incident bigint, of_type text, of_key text, data json,
  to_channel integer default null
) returns void language plpgsql as $$
declare
  made text;
begin
  insert into event (account_id, domain_id, type, key, body)
  values (of_account, of_domain, of_type, of_key, event_body(of_type, data))
  on conflict (key) do nothing
  returning id into made;
  if made is null then return; end if;

  insert into delivery (event_id, account_id, domain_id, incident_id, channel_id)
  select made, of_account, of_domain, of_incident, c.id from channel c
   where c.account_id = of_account
     and case when to_channel is not null then c.id = to_channel
              -- What is about no domain is about all of them.
              else c.state = 'confirmed' and of_type = any (c.events) and (c.domains is null or of_domain = any (c.domains))
                   and (of_incident is null or (select kind = any (c.kinds) is not false from incident where id = of_incident)) end;
  update delivery set state = 'cancelled'
   where id in (select id from delivery where account_id = of_account and state = 'waiting' order by id desc offset 10000);
  -- A task for each channel sends what is due. Nodes of version 0.2.0 listen to `delivery`.
  perform ask_task(case c.format when 'mail' then 'mail' else 'delivery' end, c.id::text, of_account)
     from channel c where c.id in (select channel_id from delivery where event_id = made) order by c.id;
  perform pg_notify('delivery', '');
end
$$;

-- Nodes of 0.2.0 do not know who takes care of an incident: their reminders of such an incident are left out here.
create or replace function record_incident(of_incident bigint, of_type text, of_key text) returns void language sql as $$
  select announce_incident(i, d.custom_domain),
         record_event(i.account_id, i.domain_id, i.id, of_type, of_key,
                      json_build_object('incident', incident_json(i, d.custom_domain)))
    from incident i join domain d on d.id = i.domain_id
   where i.id = of_incident
     and not (of_type = 'mail.reminder' and exists (select from incident_acknowledged a where a.incident_id = i.id))
$$;

create or replace function resolve_incident(of_incident bigint, why text) returns void language plpgsql as $$
begin
  update incident set state = 'resolved', resolved_at = clock_timestamp(), resolution = why
   where id = of_incident and state = 'open';
  if found then
    perform record_incident(of_incident, 'incident.resolved', 'incident ' || of_incident || ' resolved');
  end if;
end
$$;

-- The first good answer of each domain. Domains that are live already are not written.
create or replace function note_live(domains integer[]) returns void language sql as $$
  with first as (
    update health h set live_at = clock_timestamp()
     where h.domain_id in (select domain_id from health where domain_id = any (domains) and live_at is null
                            order by domain_id for update)
       and h.live_at is null
    returning h.domain_id)
  select record_event(d.account_id, d.id, null, 'domain.live', 'live ' || d.id,
                      json_build_object('domain', d.custom_domain))
    from first join domain d on d.id = first.domain_id
$$;

-- Takes what is due of a channel: an account has at most 4 attempts under way over all nodes, an endpoint 3, a failing one 1,
-- an address 1. All rows with one lease are one attempt: an event for an endpoint, or an e-mail. Deliveries of an incident to
-- an endpoint wait for the earlier ones; those to an address wait until the oldest has waited for `gather`.
create or replace function take_deliveries(of_channel integer, gather interval, lease_for interval)
returns setof claimed language plpgsql
-- Statistics lag behind what waits: only the indexes are right, in their own order.
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_incremental_sort = off
as $$
declare
  moment constant timestamptz := clock_timestamp();
  target record;
  chosen bigint[];
  unit   uuid;
  room   integer;
begin
  -- The limits are exact. `claim_deliveries` of version 0.2.0 takes the same lock.
  perform pg_advisory_xact_lock(7228, 0);
  select c.account_id, c.format = 'mail' as is_mail,
         case when c.format = 'mail' or c.failing_since is not null then 1 else 3 end as most
    into target from channel c where c.id = of_channel;
  if not found then return; end if;
  select least(4 - count(distinct d.lease), target.most - count(distinct d.lease) filter (where d.channel_id = of_channel))
    into room from delivery d
   where d.account_id = target.account_id and d.lease is not null and d.due_at > moment;
  if room <= 0 then return; end if;
  if target.is_mail then
    -- What was tried together is tried again together, so that a repeated e-mail is the same.
    select case when bool_or(d.incident_id is null) then array[min(d.id) filter (where d.incident_id is null)]
                when bool_or(d.attempts > 0) then array_agg(d.id) filter (where d.attempts > 0)
                when min(d.created_at) <= moment - gather then array_agg(d.id) end into chosen
      from delivery d
     where d.channel_id = of_channel and d.state = 'waiting' and d.due_at <= moment;
    unit := gen_random_uuid();
  else
    chosen := array(
      select d.id from delivery d
       where d.channel_id = of_channel and d.state = 'waiting' and d.due_at <= moment
         and not exists (select from delivery o
                          where o.channel_id = d.channel_id and o.incident_id = d.incident_id
                            and o.state = 'waiting' and o.id < d.id)
       order by d.due_at, d.id limit room for update skip locked);
  end if;
  update delivery d
     set lease = coalesce(unit, gen_random_uuid()), due_at = moment + lease_for,
         attempts = d.attempts + 1, last_attempt_at = moment
   where d.id = any (chosen);
  return query select * from claimed c where c.id = any (chosen) order by c.id;
end
$$;

-- Of version 0.2.0, whose nodes still call it during an upgrade; nodes of this version have a task for each channel. Both
-- count attempts by the leases of deliveries, so the limits hold. To be dropped by the release after 0.3.0.
-- Claims deliveries for a node with `slots` free places: accounts take turns, beginning after `after_account`; an account
-- has at most 4 attempts under way over all nodes, an endpoint 3, a failing one 1, an address 1. All rows with one lease
-- are one attempt: an event for an endpoint, or an e-mail. Deliveries of an incident to an endpoint wait for the earlier
-- ones; those to an address wait until the oldest has waited for `gather`.
create or replace function claim_deliveries(slots integer, after_account integer, by_mail boolean, gather interval, lease interval)
returns setof claimed language plpgsql
-- Statistics lag behind what waits: only the indexes are right, in their own order.
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_incremental_sort = off
as $$
#variable_conflict use_column
declare
  moment  constant timestamptz := clock_timestamp();
  account integer := after_account;
  first_due timestamptz;
  target  record;
  chosen  bigint[];
  unit    uuid;
  room    integer;
  taken   integer;
begin
  perform pg_advisory_xact_lock(7228, 0);
  while slots > 0 loop
    select d.account_id, d.due_at into account, first_due from delivery d
     where d.state = 'waiting' and d.account_id > account order by d.account_id, d.due_at limit 1;
    exit when account is null;
    continue when first_due > moment;
    select least(slots, 4 - count(distinct d.lease)) into room from delivery d
     where d.account_id = account and d.lease is not null and d.due_at > moment;
    for target in
      select c.id, c.format = 'mail' as is_mail,
             case when c.format = 'mail' or c.failing_since is not null then 1 else 3 end
             - (select count(distinct d.lease) from delivery d
                 where d.account_id = account and d.lease is not null and d.due_at > moment and d.channel_id = c.id) as free
        from channel c where c.account_id = account and (by_mail or c.format <> 'mail')
       order by free desc, id
    loop
      exit when room <= 0;
      continue when target.free <= 0;
      if target.is_mail then
        -- What was tried together is tried again together, so that a repeated e-mail is the same.
        select case when bool_or(d.incident_id is null) then array[min(d.id) filter (where d.incident_id is null)]
                    when bool_or(d.attempts > 0) then array_agg(d.id) filter (where d.attempts > 0)
                    when min(d.created_at) <= moment - gather then array_agg(d.id) end into chosen
          from delivery d
         where d.channel_id = target.id and d.state = 'waiting' and d.due_at <= moment;
      else
        chosen := array(
          select d.id from delivery d
           where d.channel_id = target.id and d.state = 'waiting' and d.due_at <= moment
             and not exists (select from delivery o
                              where o.channel_id = d.channel_id and o.incident_id = d.incident_id
                                and o.state = 'waiting' and o.id < d.id)
           order by d.due_at, d.id limit least(room, target.free) for update skip locked);
      end if;
      continue when coalesce(cardinality(chosen), 0) = 0;
      unit := case when target.is_mail then gen_random_uuid() end;
      update delivery d
         set lease = coalesce(unit, gen_random_uuid()), due_at = moment + claim_deliveries.lease,
             attempts = d.attempts + 1, last_attempt_at = moment
       where d.id = any (chosen);
      return query select * from claimed where id = any (chosen) order by id;
      taken := case when target.is_mail then 1 else cardinality(chosen) end;
      room := room - taken;
      slots := slots - taken;
    end loop;
  end loop;
end
$$;

-- The rules forget what did not last long enough yet, and remember when each open incident ended.
create or replace function stop_following(of_domain integer) returns void language plpgsql as $$
declare
  ended constant json := json_build_object('resolvedMs', floor(extract(epoch from clock_timestamp()) * 1000));
begin
  update health set watch =
      (select coalesce(jsonb_object_agg(key, value - '{heldMs,sinceMs,base,signMs}'::text[]), '{}') from jsonb_each(watch))
      || (select coalesce(jsonb_object_agg(kind, ended), '{}') from incident where domain_id = of_domain and state = 'open')
   where domain_id = of_domain;
  perform resolve_incident(id, 'inactive') from incident where domain_id = of_domain and state = 'open' order by id;
end
$$;

-- Nodes of 0.2.0 create, switch off and delete domains without `followDomain`, `stopFollowing` and
-- `cancelWaitingOfDomain`, and create accounts without `addOwnAddress`. Goes in the release after 0.3.0 (docs/releasing.md).
create or replace function follow_domain() returns trigger language plpgsql as $$
begin
  case tg_op
    when 'INSERT' then insert into health (domain_id) values (new.id);
    when 'DELETE' then update delivery set state = 'cancelled' where domain_id = old.id and state = 'waiting';
    when 'UPDATE' then perform stop_following(new.id);
  end case;
  return null;
end
$$;
create or replace trigger domain_is_followed after insert or delete on domain
  for each row execute function follow_domain();
create or replace trigger domain_inactive_resolves after update of is_active on domain
  for each row when (old.is_active and not new.is_active) execute function follow_domain();

create or replace function expect_channel() returns trigger language plpgsql as $$
begin
  insert into channel (account_id, format, address) values (new.id, 'mail', new.email);
  return null;
end
$$;
create or replace trigger account_has_channel after insert on account
  for each row execute function expect_channel();

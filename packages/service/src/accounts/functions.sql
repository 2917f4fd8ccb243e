-- Event streams outlive the request that opened them. These triggers notify nodes when a session ends, a key is revoked, a
-- member's role or domains change, or an account's plan, suspension or policy changes, so that they check the access of streams again.
-- The payload is the id of the account, or `person <id>`.
create or replace function notify_access_ended() returns trigger language plpgsql as $$
begin
  perform pg_notify('access_ended', old.account_id::text);
  return null;
end
$$;

create or replace function notify_account_changed() returns trigger language plpgsql as $$
begin
  perform pg_notify('access_ended', old.id::text);
  return null;
end
$$;

create or replace function notify_session_ended() returns trigger language plpgsql as $$
begin
  perform pg_notify('access_ended', 'person ' || old.person_id);
  return null;
end
$$;

create or replace function notify_person_changed() returns trigger language plpgsql as $$
begin
  perform pg_notify('access_ended', 'person ' || old.id);
  return null;
end
$$;
create or replace trigger session_ended after delete on session
  for each row execute function notify_session_ended();
create or replace trigger person_changed after update of is_operator on person
  for each row when (old.is_operator is distinct from new.is_operator) execute function notify_person_changed();
create or replace trigger member_removed after delete on member
  for each row execute function notify_access_ended();
create or replace trigger member_changed after update of role, domains, sessions_ended_at on member
  for each row when (old.role is distinct from new.role or old.domains is distinct from new.domains
                     or old.sessions_ended_at is distinct from new.sessions_ended_at)
  execute function notify_access_ended();
create or replace trigger key_revoked after update of revoked_at on api_key
  for each row when (old.revoked_at is distinct from new.revoked_at) execute function notify_access_ended();
create or replace trigger share_link_revoked after delete on share_link
  for each row execute function notify_access_ended();
create or replace trigger account_changed after update of plan, suspended_at, second_factor_required, session_hours on account
  for each row when (old.plan is distinct from new.plan or old.suspended_at is distinct from new.suspended_at
                     or old.second_factor_required is distinct from new.second_factor_required
                     or old.session_hours is distinct from new.session_hours)
  execute function notify_account_changed();

-- Nodes of 0.2.0 and newer ones have their own tables of sessions. A session that ends in one ends in the other. A session that
-- has expired in one of them may have been extended in the other, where it goes on.
create or replace function end_session_of_older_nodes() returns trigger language plpgsql as $$
begin
  if old.expires_at > now() then
    delete from sign_in_session where token_hash = old.token_hash;
  end if;
  return null;
end
$$;
create or replace function end_session_of_newer_nodes() returns trigger language plpgsql as $$
begin
  -- What another trigger deletes ends at nodes of 0.2.0 only.
  if pg_trigger_depth() = 1 and old.expires_at > now() then
    delete from session where token_hash = old.token_hash;
  end if;
  perform pg_notify('access_ended', old.account_id::text);
  return null;
end
$$;
create or replace trigger session_ends_at_older_nodes after delete on session
  for each row execute function end_session_of_older_nodes();
create or replace trigger session_ended after delete on sign_in_session
  for each row execute function end_session_of_newer_nodes();

-- Nodes of 0.2.0 take each session for that of an owner. A member who is removed, gets another role or other domains, or whose
-- sessions are ended, is signed out there, and goes on with the new rights at newer nodes.
create or replace function end_sessions_of_member_at_older_nodes() returns trigger language plpgsql as $$
begin
  delete from sign_in_session o
   where o.account_id = old.account_id
     and not exists (select from session s where s.token_hash = o.token_hash and s.person_id <> old.person_id);
  return null;
end
$$;
create or replace trigger member_removed_at_older_nodes after delete on member
  for each row execute function end_sessions_of_member_at_older_nodes();
create or replace trigger member_changed_at_older_nodes after update of role, domains, sessions_ended_at on member
  for each row when (old.role is distinct from new.role or old.domains is distinct from new.domains
                     or old.sessions_ended_at is distinct from new.sessions_ended_at)
  execute function end_sessions_of_member_at_older_nodes();

-- Nodes of 0.2.0 start sessions by reset links, for the person with the account's address. It must be an owner.
create or replace function refuse_session_of_older_nodes() returns trigger language plpgsql as $$
begin
  if exists (select from account a join person p on p.email = a.email
               join member m on m.account_id = a.id and m.person_id = p.id
              where a.id = new.account_id and m.role = 'owner') then
    return new;
  end if;
  return null;
end
$$;
create or replace trigger session_of_older_nodes before insert on sign_in_session
  for each row execute function refuse_session_of_older_nodes();

-- Nodes of 0.2.0 keep reset links in `sign_in_link`. They work at newer nodes, too, and once at either. A node of 0.2.0 that
-- restarts finds no operator and makes a link for the first account, which would work nowhere.
create or replace function copy_link_of_older_nodes() returns trigger language plpgsql as $$
begin
  if new.kind = 'first' then return null; end if;
  if new.kind = 'reset' then
    insert into link (token_hash, kind, person_id, created_at, expires_at)
      select new.token_hash, 'reset', p.id, new.created_at, new.expires_at
        from account a join person p on p.email = a.email
        join member m on m.account_id = a.id and m.person_id = p.id
       where a.id = new.account_id;
  end if;
  return new;
end
$$;
create or replace function end_link_of_newer_nodes() returns trigger language plpgsql as $$
begin
  delete from link where token_hash = old.token_hash;
  return null;
end
$$;
create or replace function end_link_of_older_nodes() returns trigger language plpgsql as $$
begin
  delete from sign_in_link where token_hash = old.token_hash;
  return null;
end
$$;
create or replace trigger link_of_older_nodes before insert on sign_in_link
  for each row execute function copy_link_of_older_nodes();
create or replace trigger link_ends_at_newer_nodes after delete on sign_in_link
  for each row when (old.kind = 'reset') execute function end_link_of_newer_nodes();
create or replace trigger link_ends_at_older_nodes after delete on link
  for each row when (old.kind = 'reset') execute function end_link_of_older_nodes();

-- Nodes of 0.2.0 write a new password to `account`. It is the password of the person with the account's address.
create or replace function give_password_to_person() returns trigger language plpgsql as $$
begin
  if new.password_hash is not null then
    update person p set password_hash = new.password_hash
      from member m where m.person_id = p.id and m.account_id = new.id and p.email = new.email;
    delete from session s using member m, person p
     where s.person_id = m.person_id and m.person_id = p.id and m.account_id = new.id and p.email = new.email;
    new.password_hash := null;
  end if;
  return new;
end
$$;
create or replace trigger password_of_older_nodes before update of password_hash on account
  for each row when (new.password_hash is not null) execute function give_password_to_person();

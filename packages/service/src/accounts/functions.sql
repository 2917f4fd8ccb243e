-- Event streams outlive the request that opened them. These triggers notify nodes when a session ends, a key is
-- revoked, or an account's plan, role or suspension changes, so that they check the stream's access again.
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
create or replace trigger session_ended after delete on sign_in_session
  for each row execute function notify_access_ended();
create or replace trigger key_revoked after update of revoked_at on api_key
  for each row when (old.revoked_at is distinct from new.revoked_at) execute function notify_access_ended();
create or replace trigger account_changed after update of plan, role, suspended_at on account
  for each row when (old.plan is distinct from new.plan or old.role is distinct from new.role
                     or old.suspended_at is distinct from new.suspended_at)
  execute function notify_account_changed();

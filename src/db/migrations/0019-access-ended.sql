-- An operator may suspend an account: nobody signs in to it, its keys and tokens are refused, its sites pass.
alter table account add column suspended_at timestamptz;

-- Streams of events outlive the request that opened them, so they are told when what let them in may be no more.
create function tell_access_ended() returns trigger language plpgsql as $$
begin
  perform pg_notify('access_ended', old.account_id::text);
  return null;
end
$$;
create function tell_account_changed() returns trigger language plpgsql as $$
begin
  perform pg_notify('access_ended', old.id::text);
  return null;
end
$$;
create trigger session_ended after delete on sign_in_session
  for each row execute function tell_access_ended();
create trigger key_revoked after update of revoked_at on api_key
  for each row when (old.revoked_at is distinct from new.revoked_at) execute function tell_access_ended();
create trigger account_changed after update of plan, role, suspended_at on account
  for each row when (old.plan is distinct from new.plan or old.role is distinct from new.role
                     or old.suspended_at is distinct from new.suspended_at)
  execute function tell_account_changed();

-- A random word by which a node finds out whether a domain's name leads to this fleet; it is asked for under that name.
create table reach_word (
  domain_id  integer primary key references domain on delete cascade,
  token      text not null,
  word       text not null,
  expires_at timestamptz not null
);

-- Browsers that run at a node, and how many were started since it began: the first, and each that replaced one.
alter table node add column browsers integer not null default 0, add column browsers_started integer not null default 0;

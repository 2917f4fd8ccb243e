-- breaking: sessions are stored by the hash of their cookie, and passwords with their account. Signed-in people sign in again.

alter table account add column password_hash text;
update account a set password_hash = m.password from sign_in_method m where m.account_id = a.id;
alter table account drop column name, drop column email_verified, drop column image, drop column updated_at;

drop table sign_in_method, sign_in_check, sign_in_secret, sign_in_session;

-- `token_hash`: SHA-256 of the cookie.
create table sign_in_session (
  id         integer generated always as identity primary key,
  account_id integer not null references account on delete cascade,
  token_hash bytea not null unique,
  address    text not null,
  user_agent text not null,
  created_at timestamptz not null,
  used_at    timestamptz not null,
  expires_at timestamptz not null
);
create index sign_in_session_account on sign_in_session (account_id);
create index sign_in_session_expiry on sign_in_session (expires_at);
create trigger session_ended after delete on sign_in_session
  for each row execute function tell_access_ended();

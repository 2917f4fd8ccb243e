-- How sessions began, and when their person was confirmed. Those of before began with a password.
alter table session add column way text not null default 'password' check (way in ('password', 'passkey', 'sso'));
alter table session add column second_factor boolean not null default false;
alter table session add column confirmed_at timestamptz;

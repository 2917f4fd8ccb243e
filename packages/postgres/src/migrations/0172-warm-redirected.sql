-- Pages of a warm that the owner redirects. Nodes of 0.2.0 count them as passed.
alter table warm add column redirected integer not null default 0;

-- At 120 % of the month's renders nothing is rendered any more; `overQuota` in packages/pages/src/quota.ts is the same rule.
create or replace function over_quota(used bigint, most bigint) returns boolean
language sql immutable as $$ select used * 5 >= most * 6 $$;

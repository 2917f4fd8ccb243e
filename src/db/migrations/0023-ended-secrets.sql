-- Keys and tokens that ended long ago are found by when they did; src/accounts/retention.ts. Noting the last use of
-- one that works changes none of these columns, so neither index.
create index api_key_ended on api_key (coalesce(revoked_at, expires_at)) where coalesce(revoked_at, expires_at) is not null;
create index webhook_token_ended on webhook_token (revoked_at) where revoked_at is not null;

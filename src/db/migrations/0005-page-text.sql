-- How much there is to read on a stored page, and since when its newer renders have been refused because they
-- say far less: src/queue/judging/keep-page.ts. null: stored by an older version.
alter table page
  add column text_chars integer,
  add column doubted_at timestamptz;

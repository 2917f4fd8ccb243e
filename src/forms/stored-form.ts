import type { Queryable } from '../db/transaction.ts'
import type { PageId } from '../store/page-id.ts'
import type { DerivedForm, FormFacts, TextChange } from './form.ts'

/** `etag`: without quotes, and unlike that of any other form. */
export type StoredForm = { bodyBr: Buffer; etag: string; facts: FormFacts }

/** null: not made yet of the page's stored snapshot, which `pageEtag` names. */
export async function readForm(
  db: Queryable,
  page: PageId,
  form: DerivedForm,
  pageEtag: string,
): Promise<StoredForm | null> {
  const { rows } = await db.query<{ body_br: Buffer; etag: string; facts: FormFacts }>({
    name: 'page-form-read',
    text: `select body_br, etag, facts from page_form
            where domain_id = $1 and path = $2 and variant = $3 and form = $4 and page_etag = $5`,
    values: [page.domain, page.path, page.variant, form, pageEtag],
  })
  const row = rows[0]
  return row === undefined ? null : { bodyBr: row.body_br, etag: row.etag, facts: row.facts }
}

/** Kept when a page is purged. null: not noted yet. */
export async function readTextChange(db: Queryable, { domain, path }: PageId): Promise<TextChange | null> {
  const { rows } = await db.query<{ hash: string; changed_at: Date }>({
    name: 'page-text-change-read',
    text: `select encode(text_hash, 'hex') as hash, changed_at from page_fact where domain_id = $1 and path = $2`,
    values: [domain, path],
  })
  return rows[0] === undefined ? null : { hash: rows[0].hash, changedAt: rows[0].changed_at.toISOString() }
}

/** Unless the page has gone or has another snapshot by now. */
export async function storeForm(
  db: Queryable,
  page: PageId,
  form: DerivedForm,
  pageEtag: string,
  { bodyBr, etag, facts }: StoredForm,
): Promise<void> {
  await db.query(
    `insert into page_form (domain_id, path, variant, form, page_etag, body_br, etag, facts)
     select domain_id, path, $3, $4, $5, $6, $7, $8 from page
      where domain_id = $1 and path = $2 and variant = $3 and etag = $5 for key share
     on conflict (domain_id, path, variant, form) do update set
       page_etag = excluded.page_etag, body_br = excluded.body_br, etag = excluded.etag, facts = excluded.facts`,
    [page.domain, page.path, page.variant, form, pageEtag, bodyBr, etag, JSON.stringify(facts)],
  )
}

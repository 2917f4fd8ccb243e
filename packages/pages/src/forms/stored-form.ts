import type { DerivedForm, StoredForm } from '@prepaint/contract/outcome/form.ts'
import type { PageId } from '@prepaint/contract/page/page-id.ts'
import { isAway } from '@prepaint/postgres/away.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { Abandoned } from '@prepaint/runtime/abandoned.ts'
import { BodyUnavailable } from '@prepaint/runtime/body-unavailable.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { BodyStore } from '../store/bodies/body-store.ts'
import { locatedBody, pageBody } from '../store/stored-page.ts'
import { findReading } from '../store/stored-reading.ts'
import type { Conversion } from './convert.ts'
import type { Converter } from './converter.ts'

type FormSource = {
  /** The ETag of the stored HTML. */
  etag: string
  /** False for a page that is given once, as its forms are then. */
  isStored: boolean
  changedAtMs: number
  html(): Promise<string>
  /** Whether the form is still wanted. Without it, it always is. */
  isWanted?(): boolean
}

/** Without the database or the object store a form could not be kept, and would be made again for each request. */
function nullUnlessAway(error: unknown): null {
  if (isAway(error) || error instanceof BodyUnavailable) throw error
  return null
}

/** Forms of stored pages: read, or made and kept. */
export class PageForms {
  readonly #db: Queryable
  readonly #pool: Queryable
  readonly #converter: Converter
  readonly #bodies: BodyStore
  readonly #log: Log

  /** `db` is for reads that a request waits for, `pool` for writes in the background. */
  constructor(db: Queryable, pool: Queryable, converter: Converter, bodies: BodyStore, log: Log) {
    this.#bodies = bodies
    this.#db = db
    this.#pool = pool
    this.#converter = converter
    this.#log = log
  }

  /** How long a form takes at most, in ms. Returns null while the code that makes forms is loaded, once. */
  get waitMs(): number | null {
    const { isReady, limitMs } = this.#converter
    return isReady ? limitMs : null
  }

  /**
   * Returns null if the page has no such form, and `busy` if it is to be asked for again later. Rejects while the database is
   * away, with BodyUnavailable while the object store is, and with Abandoned if it would be made and is not wanted any more.
   */
  async find(
    form: DerivedForm,
    domain: { account: number; name: string },
    page: PageId,
    { etag, isStored, changedAtMs, html, isWanted = () => true }: FormSource,
  ): Promise<StoredForm | 'busy' | null> {
    const stored = isStored
      ? await readForm(this.#db, page, form, etag, this.#bodies).catch(nullUnlessAway)
      : null
    if (stored !== null) return stored
    // Without them the form is the same, but for the time of the last change.
    const reading = isStored ? await findReading(this.#db, page, etag).catch(() => null) : null
    const isDated = isStored && form === 'markdown'
    const textChange = isDated ? await readTextChange(this.#db, page).catch(() => null) : null
    if (!isWanted()) throw new Abandoned()
    const conversion: Conversion = {
      form,
      html: await html(),
      url: `https://${domain.name}${page.path}`,
      reading,
      changedAt: new Date(changedAtMs).toISOString(),
      textChange,
    }
    const converted = await this.#converter.convert(domain.account, conversion, isWanted)
    if (converted === 'busy' || converted === null) return converted
    const body = await pageBody(converted.text)
    const made = { bodyBr: body.bodyBr, etag: `${body.etag}-${form}`, facts: converted.facts }
    if (isStored) {
      storeForm(this.#pool, page, form, etag, made, this.#bodies).catch((error: Error) => {
        const details = { err: error, domain: domain.name, path: page.path, form }
        this.#log.warn(details, 'a form could not be stored')
      })
    }
    return made
  }
}

type FormRow = Omit<StoredForm, 'bodyBr'> & {
  body_br: Buffer | null
  body_key: string | null
  body_bytes: number | null
  body_sum: Buffer | null
}

/** Returns null if the form was not made yet of the page's stored snapshot, which `pageEtag` names. */
async function readForm(
  db: Queryable,
  page: PageId,
  form: DerivedForm,
  pageEtag: string,
  bodies: BodyStore,
): Promise<StoredForm | null> {
  const { rows } = await db.query<FormRow>({
    name: 'page-form-read',
    text: `select body_br, body_key, body_bytes, body_sum, etag, facts from page_form
            where domain_id = $1 and path = $2 and variant = $3 and form = $4 and page_etag = $5`,
    values: [page.domain, page.path, page.variant, form, pageEtag],
  })
  const [row] = rows
  if (row === undefined) return null
  const { etag, facts } = row
  const located = locatedBody(row)
  // What is missing in the store is made again, and replaces this row.
  const bodyBr = located === null ? row.body_br : await bodies.read(located)
  if (bodyBr === null && located !== null) bodies.noteMissing(located.key)
  return bodyBr === null ? null : { bodyBr, etag, facts }
}

/** Reads when the text of a path last changed. That is kept when a page is purged. */
async function readTextChange(db: Queryable, { domain, path }: PageId): Promise<Conversion['textChange']> {
  const { rows } = await db.query<{ hash: string; changed_at: Date }>({
    name: 'page-text-change-read',
    text: `select encode(text_hash, 'hex') as hash, changed_at from page_fact where domain_id = $1 and path = $2`,
    values: [domain, path],
  })
  return rows[0] === undefined ? null : { hash: rows[0].hash, changedAt: rows[0].changed_at.toISOString() }
}

const STORE = `
  with reserved as materialized (
    select key from body_gone where key = $9 and at > clock_timestamp() for update
  ), stored as (
    insert into page_form (domain_id, path, variant, form, page_etag, body_br, etag, facts,
                           body_key, body_bytes, body_sum, body_late_at)
    select domain_id, path, $3, $4, $5, $6, $7, $8, $9, $10, $11, case when $12 then clock_timestamp() end from page
     where domain_id = $1 and path = $2 and variant = $3 and etag = $5
       and ($9::text is null or exists (select from reserved)) for key share
    on conflict (domain_id, path, variant, form) do update set
      page_etag = excluded.page_etag, body_br = excluded.body_br, etag = excluded.etag, facts = excluded.facts,
      body_key = excluded.body_key, body_bytes = excluded.body_bytes, body_sum = excluded.body_sum,
      body_foreign = false, body_late_at = excluded.body_late_at
    returning body_key
  )
  delete from body_gone using stored where body_gone.key = stored.body_key`

/** Stores a form, unless the page has gone or has another snapshot by now. */
async function storeForm(
  db: Queryable,
  page: PageId,
  form: DerivedForm,
  pageEtag: string,
  { bodyBr, etag, facts }: StoredForm,
  bodies: BodyStore,
): Promise<void> {
  const body = await bodies.put(page.domain, bodyBr)
  const stored = body.at === 'store' ? body : null
  await db.query(STORE, [
    page.domain,
    page.path,
    page.variant,
    form,
    pageEtag,
    stored === null ? bodyBr : null,
    etag,
    JSON.stringify(facts),
    stored?.key ?? null,
    stored?.bytes ?? null,
    stored?.sum ?? null,
    body.at === 'late',
  ])
}

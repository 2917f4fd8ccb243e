import type { Queryable } from '../../db/transaction.ts'
import type { Converter } from '../../forms/converter.ts'
import { findForm } from '../../forms/find-form.ts'
import type { DerivedForm, Form } from '../../forms/form.ts'
import type { Log } from '../../log.ts'
import type { PageCache } from '../../store/page-cache.ts'
import type { PageId } from '../../store/page-id.ts'
import { within } from '../../within.ts'
import type { EdgeDomain } from '../request/domain.ts'
import type { Encodings, Served, ServedPage } from './prepared-page.ts'
import { formIn } from './send-page.ts'

type PageFormsParts = {
  log: Log
  /** With query time limits. */
  db: Queryable
  /** For background writes. */
  pool: Queryable
  pages: Pick<PageCache<Served>, 'grown'>
  converter: Converter
}

/** Finds or makes the other forms of pages. Hits from memory do not come here. */
export class PageForms {
  readonly #parts: PageFormsParts
  readonly #making = new WeakMap<ServedPage, Map<DerivedForm, Promise<Encodings | null>>>()

  constructor(parts: PageFormsParts) {
    this.#parts = parts
  }

  /** The form that can be given: HTML where the page has no other, or it takes too long. Never rejects. */
  async find(domain: EdgeDomain, id: PageId, page: ServedPage, asked: Form): Promise<Form | 'own-markdown'> {
    const known = formIn(page, asked)
    if (known !== undefined || asked === 'html') return known ?? 'html'
    const making = this.#making.get(page) ?? new Map<DerivedForm, Promise<Encodings | null>>()
    this.#making.set(page, making)
    const open = making.get(asked) ?? this.#make(domain, id, page, asked).finally(() => making.delete(asked))
    making.set(asked, open)
    const { isReady, limitMs } = this.#parts.converter
    return (await (isReady ? within(limitMs, open, null) : open)) === null ? 'html' : asked
  }

  async #make(
    domain: EdgeDomain,
    id: PageId,
    page: ServedPage,
    form: DerivedForm,
  ): Promise<Encodings | null> {
    const { log, pages } = this.#parts
    const about = { domain: domain.name, path: id.path, form }
    const url = `https://${domain.name}${id.path}`
    const notStored = (error: Error) => log.warn({ err: error, ...about }, 'a form could not be stored')
    try {
      const made = await findForm(
        { ...this.#parts, notStored },
        { ...page, account: domain.account, id, url },
        form,
      )
      if (made === 'busy') return null
      if (made === null) log.info(about, 'a page could not be converted; it is served as HTML')
      page.addForm(form, made, url)
      pages.grown(id, page)
    } catch (error) {
      log.error({ err: error, ...about }, 'a page could not be converted')
      page.addForm(form, null, url)
    }
    return page.forms[form] ?? null
  }
}

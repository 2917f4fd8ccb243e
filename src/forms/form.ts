/** What can be served of one stored page. */
export const FORMS = ['html', 'markdown', 'card'] as const
export type Form = (typeof FORMS)[number]

/** Derived from the stored HTML. */
export type DerivedForm = Exclude<Form, 'html'>

export type FormSource = {
  form: DerivedForm
  /** The public URL: base of relative links. */
  url: string
  /** When the page's HTML last changed, ISO 8601. */
  changedAt: string
  /** When its path last got another text, and the hash of that. Absent or null: unknown. */
  textChange?: { hash: string; changedAt: string } | null
}

/** What a form says of its page in response headers. `robots` and `canonical` null: nothing. */
export type FormFacts = { chars: number; canonical: string | null; robots: string | null }

/** What can be served of one stored page. */
export const FORMS = ['html', 'markdown', 'card'] as const
export type Form = (typeof FORMS)[number]

/** Derived from the stored HTML. */
export type DerivedForm = Exclude<Form, 'html'>

/** When a path last got another text, ISO 8601, and the hash of that. */
export type TextChange = { hash: string; changedAt: string }

export type FormSource = {
  form: DerivedForm
  /** The public URL: base of relative links. */
  url: string
  /** When the page's HTML last changed, ISO 8601. */
  changedAt: string
  /** Absent or null: unknown. */
  textChange?: TextChange | null
}

/** What a form says of its page in response headers. `robots` and `canonical` null: nothing. */
export type FormFacts = { chars: number; canonical: string | null; robots: string | null }

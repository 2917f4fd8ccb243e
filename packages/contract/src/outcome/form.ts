/** What can be served of one stored page. */
export const FORMS = ['html', 'markdown', 'card'] as const
export type Form = (typeof FORMS)[number]

/** A form that is derived from the stored HTML. */
export type DerivedForm = Exclude<Form, 'html'>

/** What the edge needs of a form for its headers. `chars` counts those of the text. */
export type FormFacts = { chars: number; canonical: string | null; robots: string | null }

/** `etag` has no quotes, and differs from that of any other form. */
export type StoredForm = { bodyBr: Buffer; etag: string; facts: FormFacts }

/** What can be served of one stored page. */
export const FORMS = ['html', 'markdown', 'card'] as const
export type Form = (typeof FORMS)[number]

/** Derived from the stored HTML. */
export type DerivedForm = Exclude<Form, 'html'>

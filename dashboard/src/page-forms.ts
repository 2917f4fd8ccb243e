import type { Form } from '@prepaint/contract/outcome/form.ts'

export const FORM_LABELS: Record<Form, string> = { html: 'HTML', markdown: 'Markdown', card: 'Card' }

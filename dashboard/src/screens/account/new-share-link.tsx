import { Button, Checkbox, NativeSelect, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { DEFAULT_SHARE_PARTS, SHARE_PARTS, type SharePart } from '@prepaint/contract/share-parts.ts'
import { useMutation } from '@tanstack/react-query'
import { request } from '../../api/request.ts'
import type { MadeShareLink } from '../../api/types.ts'
import { ShownOnce } from '../../parts/copy-field.tsx'
import { FormDialog } from '../../parts/dialog.tsx'
import { Note } from '../../parts/page.tsx'
import { DomainChoice } from './domain-choice.tsx'

const PART_TITLES: Record<SharePart, string> = {
  overview: 'Overview',
  traffic: 'Traffic: visits of crawlers',
  incidents: 'Incidents',
  pages: 'Cached pages, with their addresses',
  report: 'Reports: of each week and month',
}

const DAYS = [
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: 'date', label: 'On a date' },
]

const DAY_MS = 86_400_000
/** The day itself is shown, too. */
const endOf = (date: string) => new Date(Date.parse(`${date}T00:00:00Z`) + DAY_MS)
const dayIn = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10)
/** Links live for at most 400 days. */
const MOST_DAYS = 398

function isPossible(date: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(date) && date >= dayIn(0) && date <= dayIn(MOST_DAYS)
}

export type FirstValues = { name: string; domains: readonly string[]; parts: readonly SharePart[] }

const NOTHING_CHOSEN: FirstValues = { name: '', domains: [], parts: DEFAULT_SHARE_PARTS }

/** `first`: what the form has when it opens. */
export function NewShareLink(props: {
  first?: FirstValues
  onClose: () => void
  onMade: (made: MadeShareLink) => void
}) {
  const { first = NOTHING_CHOSEN, onClose, onMade } = props
  const form = useForm({
    initialValues: {
      name: first.name,
      days: '90',
      date: dayIn(30),
      domains: [...first.domains],
      parts: [...first.parts],
    },
    validate: {
      name: (name) => (name.trim() === '' ? 'Name who gets it' : null),
      domains: (domains) => (domains.length === 0 ? 'Choose at least one domain' : null),
      date: (date, { days }) =>
        days === 'date' && !isPossible(date) ? 'Choose a day in the next 13 months' : null,
      parts: (parts) => (parts.length === 0 ? 'Choose at least one part' : null),
    },
  })
  const send = useMutation({
    mutationFn: ({ name, days, date, domains, parts }: typeof form.values) => {
      const end = days === 'date' ? endOf(date) : new Date(Date.now() + Number(days) * DAY_MS - 60_000)
      const expires_at = end.toISOString()
      return request<MadeShareLink>('POST', '/api/share-links', {
        body: { name: name.trim(), domains, parts, expires_at },
      })
    },
    onSuccess: onMade,
  })
  return (
    <FormDialog
      title="Make a share link"
      label="Make the link"
      sent={send}
      onSubmit={form.onSubmit((values) => send.mutate(values))}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        placeholder="Client of the shop"
        autoComplete="off"
        required
        data-autofocus
        {...form.getInputProps('name')}
      />
      <NativeSelect label="Expires in" data={DAYS} {...form.getInputProps('days')} />
      {form.values.days === 'date' && (
        <TextInput
          label="Last day (UTC)"
          type="date"
          min={dayIn(0)}
          max={dayIn(MOST_DAYS)}
          {...form.getInputProps('date')}
        />
      )}
      <DomainChoice
        chosen={form.values.domains}
        error={form.errors['domains'] as string | undefined}
        onChange={(chosen) => form.setFieldValue('domains', chosen)}
      />
      <Checkbox.Group label="Shows" {...form.getInputProps('parts')}>
        <Stack gap={6} mt={6}>
          {SHARE_PARTS.map((part) => (
            <Checkbox key={part} value={part} label={PART_TITLES[part]} />
          ))}
        </Stack>
      </Checkbox.Group>
      <Note size="sm">Anyone with this link can see this.</Note>
    </FormDialog>
  )
}

/** Shows a new link once. `mailSubject`: an e-mail with the link can be written, in the person's own program. */
export function MadeLink(props: { made: MadeShareLink; mailSubject?: string; onClose: () => void }) {
  const { made, mailSubject, onClose } = props
  return (
    <ShownOnce
      title={`The share link ${made.share_link.name}`}
      warning="Copy it now: it is shown only once. Whoever has it sees these domains until it expires or you revoke it."
      fields={[{ label: 'Link', value: made.url }]}
      action={
        mailSubject !== undefined && (
          <Button component="a" variant="default" href={mailTo(mailSubject, made.url)}>
            Write an e-mail
          </Button>
        )
      }
      onClose={onClose}
    />
  )
}

/** Without a recipient, whom the person chooses. Spaces are `%20`: mail programs show a plus sign as it is. */
function mailTo(subject: string, link: string): string {
  return `mailto:?subject=${encodeURIComponent(subject)}&body=${encodeURIComponent(link)}`
}

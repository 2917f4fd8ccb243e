import { NativeSelect, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useSaveSettings } from '../../api/site-file-queries.ts'
import type { DomainWithSettings, Settings } from '../../api/types.ts'
import { CATEGORIES, type Category, PURPOSES } from '../../crawler-categories.ts'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
import { notifyDone } from '../../parts/notifications.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { SaveBar } from '../../parts/save-bar.tsx'
import { Refusal } from '../../parts/states.tsx'
import { LeaveGuard } from '../settings/leave-guard.tsx'
import { ForbidsSite, SEARCH_CRAWLERS } from './forbidden.tsx'
import { Versions } from './versions.tsx'

type Policy = Pick<Settings, 'categories' | 'preferences' | 'terms_url'>
type Treatment = NonNullable<Settings['categories'][Category]>

const TREATMENTS = [
  { value: 'render', label: 'render: rendered pages' },
  { value: 'pass', label: 'pass: what people get' },
  { value: 'block', label: 'block: 403' },
  { value: 'payment', label: 'payment: 402 with your terms' },
]

/** What a site loses if these are blocked. */
const COSTS: Record<Category, string> = {
  search: 'the site disappears from Google, Bing and other search engines.',
  ai: 'AI crawlers of unknown purpose get nothing, nor do those of the next three without a choice of their own.',
  'ai-training':
    'the site is not used for training; later models know it less. It is still shown in ChatGPT’s answers, which the next two serve.',
  'ai-search': 'the site is not shown in ChatGPT’s, Claude’s or Perplexity’s answers.',
  'ai-user': 'someone who asks an assistant about a page gets nothing of it.',
  social: 'links to the site have no title, text or picture in social networks and messengers.',
  seo: 'SEO tools learn nothing new about the site, for your own reports too.',
  other: 'archives, monitors and feed readers stop working for the site.',
}

const PREFERENCES = [
  {
    name: 'search',
    label: 'Search results (search)',
    cost: 'Denied: search engines are asked to leave the site out of their results.',
  },
  {
    name: 'ai_input',
    label: 'Answers of assistants (ai_input)',
    cost: 'Denied: assistants are asked not to show the site in their answers. It may still be used for training.',
  },
  {
    name: 'ai_train',
    label: 'Training of models (ai_train)',
    cost: 'Denied: the site is not to be used for training. It may still be shown in answers.',
  },
] as const satisfies readonly { name: keyof Settings['preferences']; label: string; cost: string }[]

const shutsOut = (treatment: Treatment | undefined) => treatment === 'block' || treatment === 'payment'

export default function CrawlerPolicy({ domain }: { domain: DomainWithSettings }) {
  const { custom_domain: name, settings } = domain
  const saveSettings = useSaveSettings(name)
  /** null: nothing was edited; what is stored is shown. */
  const [edited, setEdited] = useState<Policy | null>(null)
  const [isAsking, setAsking] = useState(false)
  const { categories, preferences, terms_url } = edited ?? settings
  const change = (by: Partial<Policy>) => setEdited({ categories, preferences, terms_url, ...by })
  const store = async () => {
    await saveSettings({ categories, preferences, terms_url: terms_url || null })
    setEdited(null)
    notifyDone('Saved. The policy is in force.')
  }
  const save = useMutation({
    mutationFn: async () => {
      if (shutsOut(categories.search) && !shutsOut(settings.categories.search)) setAsking(true)
      else await store()
    },
  })
  return (
    <Stack gap="lg">
      <Form onSubmit={() => save.mutate()}>
        <Stack gap="lg">
          <Treatments categories={categories} onChange={(next) => change({ categories: next })}>
            <TextInput
              className="form"
              label="Address of your terms (terms_url)"
              description="Required for payment. It stays open to every crawler."
              placeholder={`https://${name}/terms`}
              spellCheck={false}
              value={terms_url ?? ''}
              onChange={(event) => change({ terms_url: event.currentTarget.value.trim() })}
            />
          </Treatments>
          <Section
            title="Preferences"
            lead="What pages may be used for, in robots.txt and as headers. This asks crawlers and forces nothing."
          >
            <div className="columns">
              {PREFERENCES.map(({ name: use, label, cost }) => (
                <Choice
                  key={use}
                  label={label}
                  value={preferences[use] ?? ''}
                  data={['allow', 'deny']}
                  otherwise="not stated"
                  cost={cost}
                  onChange={(value) => change({ preferences: withEntry(preferences, use, value) })}
                />
              ))}
            </div>
          </Section>
          <Refusal error={save.error} />
          <SaveBar isDirty={edited !== null} isBusy={save.isPending} onUndo={() => setEdited(null)} />
        </Stack>
      </Form>
      <LeaveGuard isDirty={edited !== null} />
      <Versions domain={name} kind="policy" />
      {isAsking && (
        <ConfirmDialog
          title="Shut out search engines?"
          label="Save anyway"
          run={store}
          onClose={() => setAsking(false)}
        >
          <ForbidsSite crawlers={SEARCH_CRAWLERS} />
        </ConfirmDialog>
      )}
    </Stack>
  )
}

function Treatments(props: {
  categories: Settings['categories']
  onChange: (categories: Settings['categories']) => void
  children: ReactNode
}) {
  const { categories } = props
  const isPurpose = (category: Category) => PURPOSES.some((each) => each.category === category)
  const [search, ai, ...others] = CATEGORIES
  return (
    <Section
      title="Crawlers"
      lead="What each kind gets. Payment answers with status 402 and your terms; Prepaint takes no payments. Who is a crawler is chosen in the settings; those that do not say who they are count as people."
    >
      <div className="columns">
        {[search, ai, ...PURPOSES, ...others].map(({ category, label, description }) => (
          <Choice
            key={category}
            label={`${label} (${category})`}
            description={description}
            value={categories[category] ?? (isPurpose(category) ? '' : 'render')}
            data={TREATMENTS}
            {...(isPurpose(category) && { otherwise: `as AI: ${categories.ai ?? 'render'}` })}
            cost={`Cost of blocking: ${COSTS[category]}`}
            onChange={(value) =>
              props.onChange(
                withEntry(categories, category, value === 'render' && !isPurpose(category) ? '' : value),
              )
            }
          />
        ))}
      </div>
      {props.children}
    </Section>
  )
}

/** `value` empty: without the entry. */
function withEntry<Entries extends object>(entries: Entries, name: keyof Entries, value: string): Entries {
  const { [name]: _before, ...others } = entries
  return (value === '' ? others : { ...others, [name]: value }) as Entries
}

function Choice(props: {
  label: string
  description?: string
  value: string
  data: readonly (string | { value: string; label: string })[]
  /** What holds without a choice; absent: one must be chosen. */
  otherwise?: string
  cost: string
  onChange: (value: string) => void
}) {
  const { otherwise, cost, data, onChange, ...field } = props
  return (
    <div>
      <NativeSelect
        {...field}
        data={[...(otherwise === undefined ? [] : [{ value: '', label: otherwise }]), ...data]}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <Note mt={4}>{cost}</Note>
    </div>
  )
}

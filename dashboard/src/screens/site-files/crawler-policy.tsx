import { NativeSelect, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { DomainWithSettings, Settings } from '../../api/types.ts'
import { CATEGORIES, type Category, PURPOSES } from '../../crawler-categories.ts'
import { EditForm } from '../../parts/edit-form.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { SEARCH_CRAWLERS, useAskedSave } from './forbidden.tsx'
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

const STATED = [
  { value: '', label: 'not stated' },
  { value: 'allow', label: 'allow' },
  { value: 'deny', label: 'deny' },
]

const [SEARCH, AI, ...OTHERS] = CATEGORIES

const isPurpose = (category: Category) => PURPOSES.some((each) => each.category === category)
const shutsOut = (treatment: Treatment | undefined) => treatment === 'block' || treatment === 'payment'

export default function CrawlerPolicy({ domain }: { domain: DomainWithSettings }) {
  const { custom_domain: name, settings } = domain
  /** null: nothing was edited; what is stored is shown. */
  const [edited, setEdited] = useState<Policy | null>(null)
  const { categories, preferences, terms_url } = edited ?? settings
  const change = (by: Partial<Policy>) => setEdited({ categories, preferences, terms_url, ...by })
  const { save, question } = useAskedSave(name, {
    said: 'Saved. The policy is in force.',
    onSaved: () => setEdited(null),
  })
  const submit = () => {
    const isNew = shutsOut(categories.search) && !shutsOut(settings.categories.search)
    const changed = { categories, preferences, terms_url: terms_url || null }
    save.mutate({ settings: changed, crawlers: isNew ? SEARCH_CRAWLERS : [] })
  }
  return (
    <Stack gap="lg">
      <EditForm isDirty={edited !== null} sent={save} onSubmit={submit} onUndo={() => setEdited(null)}>
        <Section
          title="Crawlers"
          lead="What each kind gets. Payment answers with status 402 and your terms; Prepaint takes no payments. Who is a crawler is chosen in the settings; those that do not say who they are count as people."
        >
          <Choices
            choices={[SEARCH, AI, ...PURPOSES, ...OTHERS].map(({ category, ...kind }) => ({
              name: category,
              label: `${kind.label} (${category})`,
              description: kind.description,
              data: isPurpose(category)
                ? [{ value: '', label: `as AI: ${categories.ai ?? 'render'}` }, ...TREATMENTS]
                : TREATMENTS,
              cost: `Cost of blocking: ${COSTS[category]}`,
            }))}
            entries={categories}
            onChange={(next) => change({ categories: next })}
          />
          <TextInput
            className="form"
            label="Address of your terms (terms_url)"
            description="Required for payment. It stays open to every crawler."
            placeholder={`https://${name}/terms`}
            spellCheck={false}
            value={terms_url ?? ''}
            onChange={(event) => change({ terms_url: event.currentTarget.value.trim() })}
          />
        </Section>
        <Section
          title="Preferences"
          lead="What pages may be used for, in robots.txt and as headers. This asks crawlers and forces nothing."
        >
          <Choices
            choices={PREFERENCES.map((each) => ({ ...each, data: STATED }))}
            entries={preferences}
            onChange={(next) => change({ preferences: next })}
          />
        </Section>
      </EditForm>
      <Versions domain={name} kind="policy" />
      {question}
    </Stack>
  )
}

/** One select for each. The first of `data` is what holds without an entry. */
function Choices<Entries extends object>(props: {
  choices: readonly {
    name: keyof Entries & string
    label: string
    description?: string
    cost: string
    data: readonly { value: string; label: string }[]
  }[]
  entries: Entries
  onChange: (entries: Entries) => void
}) {
  return (
    <div className="columns">
      {props.choices.map(({ name, cost, data, ...field }) => {
        const { [name]: chosen, ...others } = props.entries
        const first = data[0]?.value
        return (
          <div key={name}>
            <NativeSelect
              {...field}
              data={data}
              value={(chosen as string | undefined) ?? first}
              onChange={({ currentTarget: { value } }) =>
                props.onChange((value === first ? others : { ...others, [name]: value }) as Entries)
              }
            />
            <Note mt={4}>{cost}</Note>
          </div>
        )
      })}
    </div>
  )
}

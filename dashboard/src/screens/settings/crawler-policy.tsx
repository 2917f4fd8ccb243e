import { NativeSelect, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import {
  type CrawlerCategory,
  purposeOf,
  type Treatment,
} from '@prepaint/contract/settings/domain-settings.ts'
import type { Settings } from '../../api/types.ts'
import { CATEGORIES, wordsOfCategory } from '../../crawler-categories.ts'
import { Note, Section } from '../../parts/page.tsx'
import type { PolicyForm, SettingsForm } from './values.ts'

const TREATMENTS: { value: Treatment; label: string }[] = [
  { value: 'render', label: 'Rendered pages' },
  { value: 'pass', label: 'What people get' },
  { value: 'block', label: 'Blocked: status 403' },
  { value: 'payment', label: 'Your terms: status 402' },
]

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

const TREATMENT_LABELS = new Map(TREATMENTS.map(({ value, label }) => [value, label]))

const shutsOut = (treatment: Treatment | undefined) => treatment === 'block' || treatment === 'payment'

/** Whether search engines get pages now, and would get none. */
export function shutsOutSearch({ categories }: PolicyForm, stored: Settings): boolean {
  return shutsOut(categories.search) && !shutsOut(stored.categories.search)
}

function categoryChoice(category: CrawlerCategory, treatmentOfAi: Treatment) {
  const { label, description, cost } = wordsOfCategory(category)
  const asAi = { value: '', label: `As AI: ${TREATMENT_LABELS.get(treatmentOfAi)?.toLowerCase()}` }
  return {
    name: category,
    label: `${label} (${category})`,
    description,
    data: purposeOf(category) === null ? TREATMENTS : [asAi, ...TREATMENTS],
    cost: `Cost of blocking: ${cost}`,
  }
}

/** What each kind of crawler gets, and what it is told. */
export function CrawlerPolicy({ form, name }: { form: UseFormReturnType<SettingsForm>; name: string }) {
  const { categories, preferences } = form.values.policy
  return (
    <>
      <Section
        id="categories"
        title="What each kind gets"
        lead="Payment answers with status 402 and your terms; Prepaint takes no payments. Crawlers that do not say who they are count as people."
      >
        <Choices
          choices={CATEGORIES.map((category) => categoryChoice(category, categories.ai ?? 'render'))}
          entries={categories}
          onChange={(next) => form.setFieldValue('policy.categories', next)}
        />
        <TextInput
          id="terms_url"
          className="form"
          label="Address of your terms (terms_url)"
          description="Required for payment. It stays open to every crawler."
          placeholder={`https://${name}/terms`}
          spellCheck={false}
          {...form.getInputProps('policy.terms')}
        />
      </Section>
      <Section
        id="preferences"
        title="Preferences"
        lead="What pages may be used for, in robots.txt and as headers. This asks crawlers and forces nothing."
      >
        <Choices
          choices={PREFERENCES.map((preference) => ({ ...preference, data: STATED }))}
          entries={preferences}
          onChange={(next) => form.setFieldValue('policy.preferences', next)}
        />
      </Section>
    </>
  )
}

/** A select for each choice. The first option of its `data` holds without an entry. */
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

import { Checkbox, Group, NativeSelect, Text, Textarea, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { type ChangeEvent, type ReactNode, useState } from 'react'
import { counted } from '../../format.ts'
import { Note } from '../../parts/page.tsx'
import classes from './rows.module.css'
import {
  ACTION_WORDS,
  countValues,
  isIdle,
  MAIN_FIELDS,
  RULE_GROUPS,
  type RuleField,
  type RuleGroup,
  TYPED,
  type Typed,
} from './rule-parts.ts'
import { ruleSentence } from './rule-sentence.ts'
import { fieldsOf, isEmpty, type SettingsForm, valueAt, withField } from './values.ts'

/** What a rule does in words, its inputs in groups, and its JSON, which all of them edit. */
export function RuleFields({ form, at }: { form: UseFormReturnType<SettingsForm>; at: number }) {
  const place = `rules.${at}`
  const json = form.values.rules[at]?.json
  // While a rule is being removed, there is none.
  if (json === undefined) return null
  const rule = fieldsOf(json)
  const input = (field: RuleField, isOff = false) => (
    <FieldInput
      key={field.place}
      field={field}
      value={valueAt(rule, field.place)}
      error={form.errors[`${place}.${field.place}`]}
      usual={field.usual?.(form.values)}
      isOff={isOff}
      onChange={(value) => {
        form.setFieldValue(`${place}.json`, withField(json, field.place, value))
        form.clearFieldError(`${place}.${field.place}`)
        // Any effect mends a rule that had none.
        form.clearFieldError(`${place}.action`)
      }}
      onBlur={() => form.validateField(`${place}.${field.place}`)}
    />
  )
  return (
    <>
      <Text size="sm" className={classes.sentence}>
        {ruleSentence(rule, form.values.plain.devices) || (
          <span className="quiet">Say which paths the rule is for, and what crawlers get there.</span>
        )}
      </Text>
      {rule !== null && MAIN_FIELDS.map((field) => input(field))}
      <div className={classes.details}>
        {rule === null && <Note size="sm">The fields are shown once the JSON below can be read.</Note>}
        {rule !== null &&
          RULE_GROUPS.map((group) => (
            <Fold
              key={group.title}
              title={group.title}
              values={countValues(group, rule)}
              hasError={hasError(group, place, form.errors)}
            >
              {isIdle(group, rule) && (
                <Note size="sm">These have no effect while crawlers get {ACTION_WORDS[rule.action!]}.</Note>
              )}
              <div className={classes.beside}>
                {group.fields.map((field) =>
                  // A value without effect can be taken away.
                  input(field, isIdle(group, rule) && isEmpty(valueAt(rule, field.place))),
                )}
              </div>
            </Fold>
          ))}
        <Fold title="JSON" values={0} hasError={form.errors[`${place}.json`] !== undefined}>
          <Textarea
            label="The rule as JSON"
            description="The same, and what has no field here, such as meta tags"
            autosize
            minRows={3}
            spellCheck={false}
            classNames={{ input: 'monospace' }}
            {...form.getInputProps(`${place}.json`)}
          />
        </Fold>
      </div>
    </>
  )
}

function hasError({ fields }: RuleGroup, rule: string, errors: Record<string, ReactNode>): boolean {
  return fields.some((field) => errors[`${rule}.${field.place}`] !== undefined)
}

/** Fields that are folded away until somebody opens them, or they have values or an error. */
function Fold(props: { title: string; values: number; hasError: boolean; children: ReactNode }) {
  const { title, values } = props
  const [isOpened, setOpened] = useState(values > 0)
  const isOpen = isOpened || props.hasError
  return (
    <details className={classes.fold} open={isOpen} onToggle={(event) => setOpened(event.currentTarget.open)}>
      <summary>
        {title}
        {values > 0 && <span className="quiet">{counted(values, 'value')}</span>}
      </summary>
      {/* Text areas find their height only where they are shown. */}
      {isOpen && props.children}
    </details>
  )
}

type FieldInputProps = {
  field: RuleField
  value: unknown
  usual: string | undefined
  error: ReactNode
  isOff: boolean
  onChange: (value: unknown) => void
  onBlur: () => void
}

/** A value of another kind is shown as none. */
function FieldInput(props: FieldInputProps) {
  const { field, value, error, isOff, onChange } = props
  const { kind, label, hint, choices = [] } = field
  switch (kind) {
    case 'choice':
      return (
        <NativeSelect
          label={label}
          error={error}
          disabled={isOff}
          value={typeof value === 'string' ? value : ''}
          data={[...choices]}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )
    case 'switch':
      return (
        <Checkbox
          label={label}
          error={error}
          disabled={isOff}
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      )
    case 'categories':
      return (
        <Checkbox.Group
          className={classes.line}
          label={label}
          description={hint}
          error={error}
          value={Array.isArray(value) ? value.map(String) : []}
          onChange={onChange}
        >
          <Group gap="sm" mt={4}>
            {choices.map((choice) => (
              <Checkbox key={choice.value} {...choice} />
            ))}
          </Group>
        </Checkbox.Group>
      )
    default:
      return <TypedInput type={TYPED[kind]} {...props} />
  }
}

function TypedInput({
  type,
  field,
  value,
  usual,
  error,
  isOff,
  onChange,
  onBlur,
}: FieldInputProps & { type: Typed }) {
  const [typed, setTyped] = useState('')
  const props = {
    label: field.label,
    error,
    disabled: isOff,
    // What was typed stays, such as "1." or an empty line, as long as it means the same.
    value: isSame(type.mean(typed), value) ? typed : type.show(value),
    spellCheck: false,
    onBlur,
    onChange(event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) {
      const text = event.currentTarget.value
      setTyped(text)
      onChange(type.mean(text))
    },
  }
  if (type.isLong) return <Textarea description={field.hint} autosize minRows={1} {...props} />
  return <TextInput placeholder={usual === undefined ? field.hint : `${usual}, as on the site`} {...props} />
}

function isSame(value: unknown, other: unknown): boolean {
  if (isEmpty(value) || isEmpty(other)) return isEmpty(value) && isEmpty(other)
  return JSON.stringify(value) === JSON.stringify(other)
}

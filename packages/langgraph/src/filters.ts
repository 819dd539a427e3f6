/** Filters for memory searches. They compare members of a value with other values, or apply operators such as `$gt`. */
type Operator = (actual: unknown, wanted: unknown) => boolean;

const OPERATORS: Readonly<Record<string, Operator>> = {
  $eq: (actual, wanted) => actual === wanted,
  $ne: (actual, wanted) => actual !== wanted,
  $gt: (actual, wanted) => Number(actual) > Number(wanted),
  $gte: (actual, wanted) => Number(actual) >= Number(wanted),
  $lt: (actual, wanted) => Number(actual) < Number(wanted),
  $lte: (actual, wanted) => Number(actual) <= Number(wanted),
  $in: (actual, wanted) => Array.isArray(wanted) && wanted.includes(actual),
  $nin: (actual, wanted) => !Array.isArray(wanted) || !wanted.includes(actual),
};

/** Returns whether every member of the filter matches the member of the same name. */
export function matchesFilter(value: Record<string, unknown>, filter: Record<string, unknown>): boolean {
  return Object.entries(filter).every(([name, wanted]) => {
    const actual = Object.hasOwn(value, name) ? value[name] : undefined;
    const operators = operatorsOf(wanted);
    if (operators === null) return actual === wanted;
    return operators.every(([operator, operand]) => OPERATORS[operator]!(actual, operand));
  });
}

/** Returns the operators of a condition, or `null` if the condition is a value for comparison. */
function operatorsOf(wanted: unknown): [string, unknown][] | null {
  if (typeof wanted !== 'object' || wanted === null) return null;
  const entries = Object.entries(wanted);
  return entries.every(([name]) => Object.hasOwn(OPERATORS, name)) ? entries : null;
}

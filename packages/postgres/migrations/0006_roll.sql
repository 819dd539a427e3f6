-- The roll of a commit (RUN-17) as an aggregate: the first leaf, then each leaf hashed onto the result so far.
CREATE FUNCTION @tidemark_roll_leaf(before bytea, leaf bytea) RETURNS bytea LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN CASE WHEN before IS NULL THEN leaf ELSE sha256(before || leaf) END;
END $$;

CREATE AGGREGATE @tidemark_roll(leaf bytea) (SFUNC = @tidemark_roll_leaf, STYPE = bytea);
